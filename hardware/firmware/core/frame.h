/* Frames on the wire: see firmware_bridge/framing.py, the other end of the same description. */
#ifndef FRAME_H
#define FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

enum {
    FRAME_HEADER = 11,
    FRAME_MAX = FRAME_HEADER + LIMIT_PAYLOAD + 4,
    FRAME_WIRE_MAX = FRAME_MAX + 3, /* one byte of COBS, two delimiters */
};

struct frame {
    uint8_t kind;
    uint16_t seq;
    uint32_t session, t_us;
    uint8_t length; /* of payload */
    uint8_t payload[LIMIT_PAYLOAD];
};

struct decoder {
    uint16_t used;
    uint8_t overlong;
    uint8_t block[FRAME_MAX + 1];
};

enum frame_result { FRAME_NONE, FRAME_GOOD, FRAME_BAD };

/* CRC-32 (IEEE 802.3) of data, continued from seed. */
uint32_t crc32(uint32_t seed, const uint8_t *data, size_t n);

/* Both return the bytes written; n must be below 254, out must hold n + 1. Decoding returns -1 for
 * bytes that no encoder writes. */
size_t cobs_encode(const uint8_t *in, size_t n, uint8_t *out);
int cobs_decode(const uint8_t *in, size_t n, uint8_t *out);

/* Write a frame with its delimiters; out must hold FRAME_WIRE_MAX. */
size_t frame_encode(const struct frame *f, uint8_t *out);

/* Take one byte; on FRAME_GOOD the frame is in f. */
enum frame_result decoder_take(struct decoder *d, uint8_t byte, struct frame *f);

#endif
