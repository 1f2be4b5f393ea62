#include "outputs.h"

/* A gap in stepping must not become a leap of the output. */
enum { DT_MAX_US = 20000 };

enum refusal outputs_check(const struct msg_setpoints *m, uint64_t now_us)
{
    int32_t left_us = (int32_t)(m->not_after_us - (uint32_t)now_us);
    if (left_us <= 0) {
        return REFUSAL_EXPIRED;
    }
    if (left_us > LIMIT_LEASE_MS * 1000) {
        return REFUSAL_LEASE_TOO_LONG;
    }
    if (m->mask >> ACTUATOR_COUNT != 0) {
        return REFUSAL_UNKNOWN_ACTUATOR;
    }
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        if ((m->mask >> i & 1) == 0) {
            continue;
        }
        if (!(ACTUATOR_LIMITS[i].low <= m->values[i] && m->values[i] <= ACTUATOR_LIMITS[i].high)) {
            return REFUSAL_OUT_OF_RANGE;
        }
    }
    return REFUSAL_NONE;
}

void outputs_set(struct outputs *o, const struct msg_setpoints *m, uint64_t now_us)
{
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        if (m->mask >> i & 1) {
            o->target[i] = m->values[i];
            o->not_after_us[i] = now_us + (uint32_t)(m->not_after_us - (uint32_t)now_us);
            o->live[i] = 1;
        }
    }
}

static void let_go(struct outputs *o, int i)
{
    o->live[i] = 0;
    o->target[i] =
        ACTUATOR_LIMITS[i].safe_action == SAFE_VALUE ? ACTUATOR_LIMITS[i].safe_value : o->position[i];
}

void outputs_release(struct outputs *o)
{
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        let_go(o, i);
    }
}

void outputs_place(struct outputs *o, int i, int32_t counts)
{
    o->position[i] = counts;
    o->carry[i] = 0;
    let_go(o, i);
}

void outputs_step(struct outputs *o, uint64_t now_us, uint32_t dt_us)
{
    if (dt_us > DT_MAX_US) {
        dt_us = DT_MAX_US;
    }
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        if (o->live[i] && now_us >= o->not_after_us[i]) {
            let_go(o, i);
            o->lapsed++;
        }
        int64_t left = (int64_t)o->target[i] - o->position[i];
        if (left == 0) {
            o->carry[i] = 0;
            continue;
        }
        uint64_t budget = (uint64_t)ACTUATOR_LIMITS[i].rate * dt_us + o->carry[i];
        int64_t step = (int64_t)(budget / 1000000);
        o->carry[i] = budget % 1000000;
        if (left > 0) {
            o->position[i] += (int32_t)(left < step ? left : step);
        } else {
            o->position[i] -= (int32_t)(-left < step ? -left : step);
        }
    }
}
