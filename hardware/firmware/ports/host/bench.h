/* The node on a host: an ideal plant (sensors read back what is driven) whose faults a test sets, and
 * time that is either the machine's or moved by the caller. */
#ifndef BENCH_H
#define BENCH_H

#include "node.h"

enum { BENCH_BUFFER = 1 << 16, BENCH_TRACE = 1 << 18 };

struct trace {
    uint32_t session;
    uint16_t seq;
    uint8_t kind;
};

struct bench {
    struct node node;
    struct hal hal;
    struct node_config config;
    int real_time;
    uint64_t now_us, random;
    int estop;
    uint32_t supply_mv, kicks, dropped, traced;
    int32_t driven[ACTUATOR_COUNT], told[ACTUATOR_COUNT], forced[CHANNEL_COUNT];
    uint8_t is_forced[CHANNEL_COUNT], silent[CHANNEL_COUNT];
    uint32_t used[NODE_PORTS];
    uint8_t out[NODE_PORTS][BENCH_BUFFER];
    struct trace trace[BENCH_TRACE];
};

/* Prepare a bench; heartbeat_ms is how long either heartbeat may be missing. */
void bench_init(struct bench *b, uint32_t heartbeat_ms, uint64_t seed, int real_time);

/* The node starts again, as after a reset; outputs stay where they were. */
void bench_reset(struct bench *b, uint8_t cause);

#endif
