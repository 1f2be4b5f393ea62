#include "safety.h"

int peer_alive(const struct safety *s, int role, uint64_t now_us)
{
    const struct peer *p = &s->peers[role - 1];
    return p->open && p->heard && now_us - p->last_us <= s->heartbeat_us;
}

unsigned safety_trip(struct safety *s, enum reason reason, uint64_t now_us)
{
    if (s->state == STATE_SAFE) {
        return 0;
    }
    s->state = STATE_SAFE;
    s->reason = (uint8_t)reason;
    s->trip_us = now_us;
    s->clear_nonce = 0;
    return FOUND_TRIP;
}

int safety_heartbeat(struct safety *s, int role, const struct msg_heartbeat *m, uint64_t now_us)
{
    struct peer *p = &s->peers[role - 1];
    /* The echo makes it a proof of life now: queued, delayed or replayed heartbeats prove nothing. */
    uint32_t age_us = (uint32_t)now_us - m->echo_us;
    int newer = !p->heard || (int32_t)(m->counter - p->counter) > 0;
    if (m->key != p->key || !newer || age_us > s->heartbeat_us) {
        return 0;
    }
    if (!peer_alive(s, role, now_us)) {
        p->good_since_us = now_us;
    }
    p->heard = 1;
    p->counter = m->counter;
    p->last_us = now_us;
    p->ok = m->ok;
    p->armed = m->armed;
    return 1;
}

static unsigned watch_estop(struct safety *s, uint64_t now_us, int pressed)
{
    if ((pressed != 0) != s->estop_raw) {
        s->estop_raw = pressed != 0;
        s->estop_since_us = now_us;
    }
    uint64_t needed_us = (uint64_t)LIMIT_ESTOP_DEBOUNCE_MS * (s->estop ? 10000 : 1000);
    if (s->estop == s->estop_raw || now_us - s->estop_since_us < needed_us) {
        return 0;
    }
    s->estop = s->estop_raw;
    if (!s->estop) {
        return FOUND_RELEASE;
    }
    s->estop_presses++;
    return FOUND_PRESS | safety_trip(s, REASON_ESTOP, now_us);
}

static unsigned watch_peers(struct safety *s, uint64_t now_us)
{
    const struct peer *controller = &s->peers[ROLE_CONTROLLER - 1];
    if (!peer_alive(s, ROLE_CONTROLLER, now_us)) {
        return safety_trip(s, REASON_CONTROLLER_LOST, now_us);
    }
    if (!peer_alive(s, ROLE_MONITOR, now_us)) {
        return safety_trip(s, REASON_MONITOR_LOST, now_us);
    }
    if (!s->peers[ROLE_MONITOR - 1].ok) {
        return safety_trip(s, REASON_MONITOR_VETO, now_us);
    }
    /* A controller that has not noticed it is in charge must not be. */
    if (!controller->armed && now_us - s->armed_us > s->heartbeat_us) {
        return safety_trip(s, REASON_ARMED_MISMATCH, now_us);
    }
    return 0;
}

unsigned safety_step(struct safety *s, uint64_t now_us, int estop_input, uint32_t supply_mv)
{
    unsigned found = watch_estop(s, now_us, estop_input);
    s->supply_low = supply_mv < LIMIT_SUPPLY_LOW_MV;
    if (s->supply_low) {
        found |= safety_trip(s, REASON_SUPPLY_LOW, now_us);
    }
    if (s->state == STATE_ARMED) {
        found |= watch_peers(s, now_us);
    }
    return found;
}

enum refusal safety_arm(struct safety *s, uint64_t now_us)
{
    if (s->state != STATE_IDLE) {
        return REFUSAL_NOT_IDLE;
    }
    if (!peer_alive(s, ROLE_CONTROLLER, now_us) || !peer_alive(s, ROLE_MONITOR, now_us)) {
        return REFUSAL_HEARTBEAT_MISSING;
    }
    if (!s->peers[ROLE_MONITOR - 1].ok || s->estop_raw || s->supply_low) {
        return REFUSAL_CAUSE_PRESENT;
    }
    s->state = STATE_ARMED;
    s->armed_us = now_us;
    return REFUSAL_NONE;
}

static int good_for_long(const struct safety *s, int role, uint64_t now_us)
{
    return peer_alive(s, role, now_us) &&
           now_us - s->peers[role - 1].good_since_us >= (uint64_t)LIMIT_HEARTBEAT_GOOD_MS * 1000;
}

enum refusal safety_clear(struct safety *s, const struct msg_clear *m, uint64_t now_us)
{
    uint32_t nonce = s->clear_nonce;
    if (s->state != STATE_SAFE) {
        return REFUSAL_NOT_SAFE;
    }
    if (m->operator == 0) {
        return REFUSAL_NO_OPERATOR;
    }
    s->clear_nonce = 0; /* one attempt for each nonce */
    if (nonce == 0 || m->nonce != nonce || now_us - s->clear_us > (uint64_t)LIMIT_CLEAR_MS * 1000) {
        return REFUSAL_BAD_NONCE;
    }
    if (s->estop || s->estop_raw || s->supply_low || s->self_test_failed || !s->peers[ROLE_MONITOR - 1].ok) {
        return REFUSAL_CAUSE_PRESENT;
    }
    if (!good_for_long(s, ROLE_CONTROLLER, now_us) || !good_for_long(s, ROLE_MONITOR, now_us)) {
        return REFUSAL_HEARTBEAT_MISSING;
    }
    s->state = STATE_IDLE;
    s->reason = REASON_NONE;
    return REFUSAL_NONE;
}
