#include "ethernet.h"

#define MACIACK REG(0x40048000u)
#define MACIM REG(0x40048004u)
#define MACRCTL REG(0x40048008u)
#define MACTCTL REG(0x4004800cu)
#define MACDATA REG(0x40048010u)
#define MACTHR REG(0x4004801cu)
#define MACNP REG(0x40048034u)
#define MACTR REG(0x40048038u)

enum {
    INT_RX = 1,
    RX_ON = 1, RX_PROMISCUOUS = 4, RX_RESET = 16,
    TX_ON = 1, TX_PAD = 2, TX_CRC = 4,
    THRESHOLD_WHOLE = 0x3f, /* sending begins when told to */
    PACKETS_MAX = 31,       /* that the controller holds */
    ADDRESSES = 14,         /* destination, source, type */
    PACKET_MAX = 1518,
};

/* To everybody, from a locally administered address, of the type for experiments (IEEE 802, 88b5). */
static const uint8_t addresses[ADDRESSES] = {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};

void ethernet_init(void)
{
    MACRCTL = RX_RESET;
    MACRCTL = RX_ON | RX_PROMISCUOUS;
    MACTCTL = TX_ON | TX_PAD | TX_CRC;
    MACTHR = THRESHOLD_WHOLE;
    MACIM = INT_RX;
}

static void receive_one(struct ring *ring)
{
    uint32_t word = MACDATA, length = word & 0xffff;
    if (length > PACKET_MAX + 2) {
        length = PACKET_MAX + 2;
    }
    for (uint32_t at = 2; at < length; at++) { /* the length counts its own two bytes */
        if (at % 4 == 0) {
            word = MACDATA;
        }
        if (at >= 2 + ADDRESSES && at < length - 4) {
            ring_put(ring, (uint8_t)(word >> 8 * (at % 4)));
        }
    }
}

void ethernet_receive(struct ring *ring)
{
    MACIACK = INT_RX; /* before draining: what arrives meanwhile asks again */
    for (int i = 0; i < PACKETS_MAX && (MACNP & 0x3f) != 0; i++) {
        receive_one(ring);
    }
}

static uint8_t byte_at(const uint8_t *bytes, size_t n, size_t at)
{
    if (at < 2) {
        return (uint8_t)(n >> 8 * at);
    }
    if (at < 2 + ADDRESSES) {
        return addresses[at - 2];
    }
    return at - 2 - ADDRESSES < n ? bytes[at - 2 - ADDRESSES] : 0;
}

void ethernet_send(const uint8_t *bytes, size_t n)
{
    if (n == 0) {
        return;
    }
    for (size_t at = 0; at < 2 + ADDRESSES + n; at += 4) {
        MACDATA = (uint32_t)byte_at(bytes, n, at) | (uint32_t)byte_at(bytes, n, at + 1) << 8 |
                  (uint32_t)byte_at(bytes, n, at + 2) << 16 | (uint32_t)byte_at(bytes, n, at + 3) << 24;
    }
    MACTR = 1;
}
