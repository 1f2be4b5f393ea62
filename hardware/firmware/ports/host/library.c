/* The bench as a shared library: what tests call through a foreign-function interface. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct bench *host_create(uint32_t heartbeat_ms, uint64_t seed)
{
    struct bench *b = malloc(sizeof *b);
    if (b) {
        bench_init(b, heartbeat_ms, seed, 0);
    }
    return b;
}

void host_destroy(struct bench *b)
{
    free(b);
}

void host_reset(struct bench *b, uint8_t cause)
{
    bench_reset(b, cause);
}

/* Let time pass, stepping the node every period_us. */
void host_advance(struct bench *b, uint64_t us, uint64_t period_us)
{
    uint64_t end = b->now_us + us;
    while (b->now_us < end) {
        b->now_us += end - b->now_us < period_us ? end - b->now_us : period_us;
        node_step(&b->node);
    }
}

void host_receive(struct bench *b, int port, const uint8_t *bytes, uint32_t n)
{
    node_receive(&b->node, port, bytes, n);
}

/* Move what the node has sent on a port into out; returns how many bytes. */
uint32_t host_take(struct bench *b, int port, uint8_t *out)
{
    uint32_t n = b->used[port];
    memcpy(out, b->out[port], n);
    b->used[port] = 0;
    return n;
}

void host_estop(struct bench *b, int pressed)
{
    b->estop = pressed;
}

void host_supply(struct bench *b, uint32_t mv)
{
    b->supply_mv = mv;
}

void host_channel(struct bench *b, int i, int32_t counts, int forced, int silent)
{
    b->forced[i] = counts;
    b->is_forced[i] = forced != 0;
    b->silent[i] = silent != 0;
}

/* Set every channel at once; a sensor whose bit in valid is 0 does not answer. */
void host_world(struct bench *b, uint32_t valid, const int32_t *counts)
{
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        host_channel(b, i, counts[i], 1, !(valid >> i & 1));
    }
}

/* Where every output is driven to. */
void host_drives(const struct bench *b, int32_t *counts)
{
    memcpy(counts, b->driven, sizeof b->driven);
}

void host_move(struct bench *b, int i, int32_t counts)
{
    b->driven[i] = counts; /* as a hand would, while the drive is off */
}

uint64_t host_now_us(const struct bench *b)
{
    return b->now_us;
}

uint32_t host_state(const struct bench *b)
{
    return b->node.safety.state;
}

uint32_t host_reason(const struct bench *b)
{
    return b->node.safety.reason;
}

uint32_t host_rejected(const struct bench *b)
{
    return b->node.rejected;
}

uint32_t host_kicks(const struct bench *b)
{
    return b->kicks;
}

int32_t host_driven(const struct bench *b, int i)
{
    return b->driven[i];
}

uint32_t host_traced(const struct bench *b)
{
    return b->traced;
}

/* The k-th command carried out: session, seq and kind in one number. */
uint64_t host_trace(const struct bench *b, uint32_t k)
{
    const struct trace *t = &b->trace[k % BENCH_TRACE];
    return (uint64_t)t->session << 24 | (uint64_t)t->seq << 8 | t->kind;
}
