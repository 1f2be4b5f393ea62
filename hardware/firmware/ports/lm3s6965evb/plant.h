/* What the Ethernet port carries on an emulated board, in the frames of the core: the world's readings
 * in, what the drives do out. It stands for converters, encoders and drives that an emulator does not have;
 * a real board has no such port. */
#ifndef PLANT_H
#define PLANT_H

#include "node.h"

/* A world that is silent for so long is gone. Shorter silences are the world's host at other work: it does not go on
 * meanwhile, so what it last showed is still so. */
enum { PLANT_INPUTS = 200, PLANT_OUTPUTS = 201, PLANT_FRESH_US = 2000000, PLANT_PERIOD_US = 50000 };

struct plant {
    struct decoder decoder;
    uint64_t heard_us; /* when the world last spoke; 0 is never */
    uint16_t valid;
    uint8_t estop, wedge; /* wedge: stand still on purpose, to prove the watchdog */
    uint8_t asked, state; /* asked: the world has spoken since the last report; state: what that reported */
    uint32_t supply_mv, kicks;
    int32_t counts[CHANNEL_COUNT], driven[ACTUATOR_COUNT];
    uint64_t sent_us;
};

void plant_init(struct plant *p);
void plant_take(struct plant *p, uint8_t byte, uint64_t now_us);

/* A report answers every word of the world and tells every change of state at once; else it is rare, so that
 * a world that does not listen for a while does not hold the emulator up. Write the next report into out (FRAME_WIRE_MAX); returns its length, 0 when none is due. */
size_t plant_report(struct plant *p, const struct node *n, uint64_t now_us, uint8_t *out);

#endif
