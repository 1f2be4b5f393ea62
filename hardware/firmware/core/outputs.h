/* Outputs: hard limits, expiry and ramps. Knows nothing of links or states. */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include <stdint.h>

#include "protocol.h"

struct outputs {
    int32_t position[ACTUATOR_COUNT]; /* what is driven now, counts */
    int32_t target[ACTUATOR_COUNT];
    uint64_t not_after_us[ACTUATOR_COUNT];
    uint64_t carry[ACTUATOR_COUNT]; /* part of a count not yet moved, in counts * 1e-6 */
    uint8_t live[ACTUATOR_COUNT];   /* 1 while a setpoint stands */
    uint16_t lapsed;                /* setpoints that ran out unrenewed */
};

/* Whether the setpoints may be taken: all or none. */
enum refusal outputs_check(const struct msg_setpoints *m, uint64_t now_us);

/* Take setpoints that outputs_check has passed. */
void outputs_set(struct outputs *o, const struct msg_setpoints *m, uint64_t now_us);

/* Let every setpoint go; each output then does what is safe for it. */
void outputs_release(struct outputs *o);

/* Start from where an output is measured to be. */
void outputs_place(struct outputs *o, int i, int32_t counts);

/* Move by dt_us at most at each output's rate. */
void outputs_step(struct outputs *o, uint64_t now_us, uint32_t dt_us);

#endif
