#include "frame.h"

#include <string.h>

uint32_t crc32(uint32_t seed, const uint8_t *data, size_t n)
{
    /* Sixteen entries instead of 256: 64 bytes of flash, two look-ups a byte. */
    static const uint32_t TABLE[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
        0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = ~seed;
    for (size_t i = 0; i < n; i++) {
        crc = TABLE[(crc ^ data[i]) & 15] ^ (crc >> 4);
        crc = TABLE[(crc ^ (uint32_t)(data[i] >> 4)) & 15] ^ (crc >> 4);
    }
    return ~crc;
}

size_t cobs_encode(const uint8_t *in, size_t n, uint8_t *out)
{
    size_t code = 0, at = 1;
    for (size_t i = 0; i < n; i++) {
        if (in[i] != 0) {
            out[at++] = in[i];
        } else {
            out[code] = (uint8_t)(at - code);
            code = at++;
        }
    }
    out[code] = (uint8_t)(at - code);
    return at;
}

int cobs_decode(const uint8_t *in, size_t n, uint8_t *out)
{
    size_t i = 0, at = 0;
    if (n == 0) {
        return -1;
    }
    while (i < n) {
        size_t end = i + in[i];
        if (end == i || end > n) {
            return -1;
        }
        for (i++; i < end; i++) {
            out[at++] = in[i];
        }
        if (end < n) {
            out[at++] = 0;
        }
    }
    return (int)at;
}

static void put_u32(uint8_t *out, uint32_t v)
{
    for (int i = 0; i < 4; i++) {
        out[i] = (uint8_t)(v >> (8 * i));
    }
}

static uint32_t get_u32(const uint8_t *in)
{
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

static uint32_t seed_of(uint8_t kind)
{
    return protocol_is_plain(kind) ? 0 : PROTOCOL_FINGERPRINT;
}

size_t frame_encode(const struct frame *f, uint8_t *out)
{
    uint8_t raw[FRAME_MAX];
    size_t n = (size_t)FRAME_HEADER + f->length;
    raw[0] = f->kind;
    put_u32(raw + 1, f->session);
    raw[5] = (uint8_t)f->seq;
    raw[6] = (uint8_t)(f->seq >> 8);
    put_u32(raw + 7, f->t_us);
    memcpy(raw + FRAME_HEADER, f->payload, f->length);
    put_u32(raw + n, crc32(seed_of(f->kind), raw, n));
    out[0] = 0;
    n = 1 + cobs_encode(raw, n + 4, out + 1);
    out[n] = 0;
    return n + 1;
}

static enum frame_result read_block(const struct decoder *d, struct frame *f)
{
    uint8_t raw[FRAME_MAX + 1];
    int n = cobs_decode(d->block, d->used, raw);
    if (n < FRAME_HEADER + 4) {
        return FRAME_BAD;
    }
    if (crc32(seed_of(raw[0]), raw, (size_t)n - 4) != get_u32(raw + n - 4)) {
        return FRAME_BAD;
    }
    f->kind = raw[0];
    f->session = get_u32(raw + 1);
    f->seq = (uint16_t)(raw[5] | raw[6] << 8);
    f->t_us = get_u32(raw + 7);
    f->length = (uint8_t)(n - FRAME_HEADER - 4);
    memcpy(f->payload, raw + FRAME_HEADER, f->length);
    return FRAME_GOOD;
}

enum frame_result decoder_take(struct decoder *d, uint8_t byte, struct frame *f)
{
    enum frame_result result = FRAME_NONE;
    if (byte != 0) {
        if (d->used == sizeof d->block) {
            d->overlong = 1;
        } else {
            d->block[d->used++] = byte;
        }
        return FRAME_NONE;
    }
    if (d->overlong) {
        result = FRAME_BAD;
    } else if (d->used > 0) {
        result = read_block(d, f);
    }
    d->used = 0;
    d->overlong = 0;
    return result;
}
