/* When the outputs may move: states, heartbeats, e-stop, supply. Latches the first reason. */
#ifndef SAFETY_H
#define SAFETY_H

#include <stdint.h>

#include "protocol.h"

/* One end of a link in a role. */
struct peer {
    uint8_t open, heard, ok, armed; /* ok, armed: what its last heartbeat said */
    uint32_t nonce, session, key, counter;
    uint64_t last_us, good_since_us;
};

struct safety {
    uint8_t state, reason;
    uint8_t estop, estop_raw, supply_low, self_test_failed;
    uint16_t estop_presses;
    uint32_t heartbeat_us;
    uint32_t clear_nonce; /* 0 when none is out */
    uint64_t clear_us, estop_since_us, armed_us, trip_us;
    struct peer peers[2]; /* by role - 1 */
};

/* What a step found, for the event log; bits. */
enum finding {
    FOUND_TRIP = 1,
    FOUND_PRESS = 2,
    FOUND_RELEASE = 4,
};

int peer_alive(const struct safety *s, int role, uint64_t now_us);

/* To SAFE; returns FOUND_TRIP unless it was there already. */
unsigned safety_trip(struct safety *s, enum reason reason, uint64_t now_us);

/* 1 if the heartbeat proves life. */
int safety_heartbeat(struct safety *s, int role, const struct msg_heartbeat *m, uint64_t now_us);

unsigned safety_step(struct safety *s, uint64_t now_us, int estop_input, uint32_t supply_mv);

enum refusal safety_arm(struct safety *s, uint64_t now_us);
enum refusal safety_clear(struct safety *s, const struct msg_clear *m, uint64_t now_us);

#endif
