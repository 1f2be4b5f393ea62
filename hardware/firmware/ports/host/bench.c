#define _POSIX_C_SOURCE 200809L

#include "bench.h"

#include <string.h>
#include <time.h>

static uint64_t now_us(void *context)
{
    const struct bench *b = context;
    struct timespec t;
    if (!b->real_time) {
        return b->now_us;
    }
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint32_t entropy(void *context)
{
    /* splitmix64: seeded, so that a test is repeatable; a board uses its noise source. */
    struct bench *b = context;
    uint64_t z = b->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

static void keep(void *context, int port, const uint8_t *bytes, uint16_t n)
{
    struct bench *b = context;
    if (b->used[port] + n > BENCH_BUFFER) {
        b->dropped++;
        return;
    }
    memcpy(b->out[port] + b->used[port], bytes, n);
    b->used[port] += n;
}

static int channel(void *context, int i, int32_t *counts)
{
    const struct bench *b = context;
    int follows = CHANNEL_FOLLOWS[i];
    *counts = b->is_forced[i] ? b->forced[i] : follows < 0 ? 0 : b->driven[follows];
    return !b->silent[i];
}

static int32_t position(void *context, int i)
{
    const struct bench *b = context;
    return b->driven[i];
}

static void drive(void *context, int i, int32_t counts)
{
    /* A drive that is told nothing new keeps where it is, even if it has been moved by force. */
    struct bench *b = context;
    if (counts != b->told[i]) {
        b->told[i] = b->driven[i] = counts;
    }
}

static int estop(void *context)
{
    const struct bench *b = context;
    return b->estop;
}

static uint32_t supply_mv(void *context)
{
    const struct bench *b = context;
    return b->supply_mv;
}

static void kick(void *context)
{
    struct bench *b = context;
    b->kicks++;
}

static void executed(void *context, uint32_t session, uint16_t seq, uint8_t kind)
{
    struct bench *b = context;
    b->trace[b->traced++ % BENCH_TRACE] = (struct trace){session, seq, kind};
}

void bench_init(struct bench *b, uint32_t heartbeat_ms, uint64_t seed, int real_time)
{
    memset(b, 0, sizeof *b);
    b->real_time = real_time;
    b->random = seed;
    b->supply_mv = 24000;
    b->config = (struct node_config){.heartbeat_ms = heartbeat_ms, .uid = "runhost"};
    b->hal = (struct hal){b, now_us, entropy, keep, channel, position, drive,
                          estop, supply_mv, kick, executed};
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        const struct actuator_limit *a = &ACTUATOR_LIMITS[i];
        b->told[i] = b->driven[i] = a->low > 0 ? a->low : 0;
    }
    bench_reset(b, RESET_CAUSE_POWER_ON);
}

void bench_reset(struct bench *b, uint8_t cause)
{
    b->config.reset_cause = cause;
    node_init(&b->node, &b->hal, &b->config);
}
