#include "plant.h"

#include <string.h>

/* valid u16, supply u16 (mV), flags u8 (1 e-stop, 2 wedge), counts i32 x CHANNEL_COUNT */
enum { INPUT_SIZE = 5 + 4 * CHANNEL_COUNT, OUTPUT_SIZE = 10 + 4 * ACTUATOR_COUNT };

static void put32(uint8_t *out, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        out[i] = (uint8_t)(v >> 8 * i);
    }
}

static int32_t get32(const uint8_t *in)
{
    return (int32_t)((uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24);
}

void plant_init(struct plant *p)
{
    memset(p, 0, sizeof *p);
    p->supply_mv = 24000; /* until the world speaks */
}

void plant_take(struct plant *p, uint8_t byte, uint64_t now_us)
{
    struct frame f;
    if (decoder_take(&p->decoder, byte, &f) != FRAME_GOOD || f.kind != PLANT_INPUTS ||
        f.length != INPUT_SIZE) {
        return;
    }
    p->heard_us = now_us;
    p->asked = 1;
    p->valid = (uint16_t)(f.payload[0] | f.payload[1] << 8);
    p->supply_mv = (uint32_t)(f.payload[2] | f.payload[3] << 8);
    p->estop = f.payload[4] & 1;
    p->wedge = f.payload[4] >> 1 & 1;
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        p->counts[i] = get32(f.payload + 5 + 4 * i);
    }
}

size_t plant_report(struct plant *p, const struct node *n, uint64_t now_us, uint8_t *out)
{
    struct frame f = {.kind = PLANT_OUTPUTS, .session = n->boot, .t_us = (uint32_t)now_us};
    if (!p->asked && p->state == n->safety.state && now_us - p->sent_us < PLANT_PERIOD_US) {
        return 0;
    }
    p->sent_us = now_us;
    p->asked = 0;
    p->state = n->safety.state;
    f.length = OUTPUT_SIZE;
    f.payload[0] = n->safety.state;
    f.payload[1] = n->safety.reason;
    put32(f.payload + 2, (uint32_t)n->safety.trip_us);
    put32(f.payload + 6, p->kicks);
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        put32(f.payload + 10 + 4 * i, (uint32_t)p->driven[i]);
    }
    return frame_encode(&f, out);
}
