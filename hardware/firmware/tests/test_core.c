/* Unit tests of the firmware core; ends with 0 when all hold. Argument: how many garbage frames to try. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "vectors.h"

static int failures;

#define EXPECT(condition, name)                                                        \
    do {                                                                               \
        if (!(condition)) {                                                            \
            printf("%s:%d: %s: not so: %s\n", __FILE__, __LINE__, (name), #condition); \
            failures++;                                                                \
        }                                                                              \
    } while (0)

static struct bench bench;

/* Unpack and pack again; 0 where the kind has no fields. */
#define REPACK(lower)                                  \
    {                                                  \
        struct msg_##lower m;                          \
        msg_##lower##_unpack(&m, in);                  \
        memset(out, 0xa5, LIMIT_PAYLOAD);              \
        msg_##lower##_pack(&m, out);                   \
        break;                                         \
    }

static void repack(uint8_t kind, const uint8_t *in, uint8_t *out)
{
    switch (kind) {
    case MSG_IDENTITY: REPACK(identity)
    case MSG_OPEN: REPACK(open)
    case MSG_OPENED: REPACK(opened)
    case MSG_HEARTBEAT: REPACK(heartbeat)
    case MSG_STATUS: REPACK(status)
    case MSG_TELEMETRY: REPACK(telemetry)
    case MSG_EVENT: REPACK(event)
    case MSG_EVENT_ACK: REPACK(event_ack)
    case MSG_SYNC: REPACK(sync)
    case MSG_SYNC_REPLY: REPACK(sync_reply)
    case MSG_SETPOINTS: REPACK(setpoints)
    case MSG_CLEAR: REPACK(clear)
    case MSG_ACK: REPACK(ack)
    case MSG_NAK: REPACK(nak)
    default: break;
    }
}

static int feed(struct decoder *d, const uint8_t *bytes, size_t n, struct frame *f)
{
    int good = 0;
    for (size_t i = 0; i < n; i++) {
        good += decoder_take(d, bytes[i], f) == FRAME_GOOD;
    }
    return good;
}

static void test_golden_vectors(void)
{
    for (size_t i = 0; i < sizeof VECTORS / sizeof *VECTORS; i++) {
        const struct vector *v = &VECTORS[i];
        struct decoder d = {0};
        struct frame f = {0};
        uint8_t wire[FRAME_WIRE_MAX], out[LIMIT_PAYLOAD];
        EXPECT(feed(&d, v->wire, v->length, &f) == v->good, v->name);
        if (!v->good) {
            continue;
        }
        EXPECT(protocol_payload_size(f.kind) == f.length, v->name);
        memcpy(out, f.payload, f.length);
        repack(f.kind, f.payload, out);
        EXPECT(memcmp(out, f.payload, f.length) == 0, v->name);
        EXPECT(frame_encode(&f, wire) == v->length && memcmp(wire, v->wire, v->length) == 0, v->name);
    }
}

static void test_garbage_is_not_accepted(long frames)
{
    struct decoder d = {0};
    struct frame f;
    uint64_t x = 88172645463325252u;
    long good = 0;
    for (long k = 0; k < frames; k++) {
        uint8_t block[48];
        for (int i = 0; i < 48; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* xorshift64 */
            block[i] = (uint8_t)(x | 1);
        }
        block[0] = (uint8_t)(2 + (x >> 32) % 45);
        block[47] = 0;
        good += feed(&d, block, sizeof block, &f);
    }
    EXPECT(good == 0, "garbage");
}

static void test_the_node_survives_any_bytes(long count)
{
    uint64_t x = 1442695040888963407u;
    bench_init(&bench, 100, 7, 0);
    for (long k = 0; k < count; k++) {
        uint8_t wire[FRAME_WIRE_MAX];
        struct frame f = {.session = bench.node.boot};
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        f.kind = (uint8_t)(x % 24);
        f.seq = (uint16_t)(x >> 8);
        f.length = (uint8_t)((x >> 16) % 4 ? (protocol_payload_size(f.kind) > 0 ? protocol_payload_size(f.kind) : 0)
                                           : (int)((x >> 24) % LIMIT_PAYLOAD));
        for (int i = 0; i < f.length; i++) {
            f.payload[i] = (uint8_t)(x >> (i % 57));
        }
        if ((x & 64) && bench.node.safety.peers[0].open) {
            f.session = bench.node.safety.peers[0].session;
        }
        size_t n = frame_encode(&f, wire);
        node_receive(&bench.node, (int)(x >> 63), wire, (uint32_t)n);
        bench.now_us += 1000;
        node_step(&bench.node);
        bench.used[0] = bench.used[1] = 0;
        for (int i = 0; i < ACTUATOR_COUNT; i++) {
            EXPECT(bench.driven[i] >= ACTUATOR_LIMITS[i].low && bench.driven[i] <= ACTUATOR_LIMITS[i].high,
                   "limits");
        }
    }
}

static void test_ramps_keep_the_rate_exactly(void)
{
    struct outputs o = {0};
    struct msg_setpoints m = {.not_after_us = 2000000, .mask = 1};
    m.values[0] = ACTUATOR_LIMITS[0].high;
    EXPECT(outputs_check(&m, 0) == REFUSAL_NONE, "lease");
    outputs_set(&o, &m, 0);
    for (uint64_t t = 333; t <= 999000; t += 333) {
        outputs_step(&o, t, 333);
        int64_t ideal = (int64_t)((uint64_t)ACTUATOR_LIMITS[0].rate * t / 1000000);
        EXPECT(o.position[0] == ideal, "ramp");
    }
}

static void test_a_setpoint_ends_at_the_very_microsecond_even_where_time_wraps(void)
{
    struct outputs o = {0};
    uint64_t start = UINT32_MAX - (uint64_t)500;
    struct msg_setpoints m = {.not_after_us = (uint32_t)(start + 1000), .mask = 1};
    m.values[0] = 1000;
    EXPECT(outputs_check(&m, start) == REFUSAL_NONE, "wrap");
    outputs_set(&o, &m, start);
    outputs_step(&o, start + 999, 1);
    EXPECT(o.live[0] == 1 && o.lapsed == 0, "wrap");
    outputs_step(&o, start + 1000, 1);
    EXPECT(o.live[0] == 0 && o.lapsed == 1 && o.target[0] == o.position[0], "wrap");
    EXPECT(outputs_check(&m, start + 1000) == REFUSAL_EXPIRED, "wrap");
    m.not_after_us = (uint32_t)(start + LIMIT_LEASE_MS * 1000 + 1);
    EXPECT(outputs_check(&m, start) == REFUSAL_LEASE_TOO_LONG, "wrap");
}

static void test_limits_are_inclusive_and_all_or_none(void)
{
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        struct msg_setpoints m = {.not_after_us = 1000, .mask = (uint16_t)((1u << i) | 1u)};
        m.values[i] = ACTUATOR_LIMITS[i].low;
        EXPECT(outputs_check(&m, 0) == REFUSAL_NONE, "low");
        m.values[i] = ACTUATOR_LIMITS[i].high;
        EXPECT(outputs_check(&m, 0) == REFUSAL_NONE, "high");
        m.values[i] = ACTUATOR_LIMITS[i].high + 1;
        EXPECT(outputs_check(&m, 0) == REFUSAL_OUT_OF_RANGE, "above");
        m.values[i] = ACTUATOR_LIMITS[i].low - 1;
        EXPECT(outputs_check(&m, 0) == REFUSAL_OUT_OF_RANGE, "below");
    }
    struct msg_setpoints none = {.not_after_us = 1000, .mask = (uint16_t)(1u << ACTUATOR_COUNT)};
    EXPECT(outputs_check(&none, 0) == REFUSAL_UNKNOWN_ACTUATOR, "unknown");
}

static void test_a_gap_in_stepping_is_no_leap(void)
{
    struct outputs o = {0};
    struct msg_setpoints m = {.not_after_us = 2000000, .mask = 1};
    m.values[0] = ACTUATOR_LIMITS[0].high;
    outputs_set(&o, &m, 0);
    outputs_step(&o, 1000000, 1000000);
    EXPECT(o.position[0] == ACTUATOR_LIMITS[0].rate / 50, "20 ms at most");
}

int main(int count, char **words)
{
    long n = count > 1 ? atol(words[1]) : 100000;
    test_golden_vectors();
    test_garbage_is_not_accepted(n);
    test_the_node_survives_any_bytes(n / 4);
    test_ramps_keep_the_rate_exactly();
    test_a_setpoint_ends_at_the_very_microsecond_even_where_time_wraps();
    test_limits_are_inclusive_and_all_or_none();
    test_a_gap_in_stepping_is_no_leap();
    printf("%d failures\n", failures);
    return failures != 0;
}
