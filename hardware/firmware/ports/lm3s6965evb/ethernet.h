/* The Ethernet controller as the plant's port: a frame of the core is one packet, so the emulator hands it over
 * in one piece, where a UART costs it a dozen system calls a byte. Registers: LM3S6965 data sheet, chapter 16. */
#ifndef ETHERNET_H
#define ETHERNET_H

#include "start.h"

void ethernet_init(void);

/* Put the payload of every packet that has come into the ring; for the interrupt. */
void ethernet_receive(struct ring *ring);

/* Send n bytes as one packet, to everybody; nothing when n is 0. */
void ethernet_send(const uint8_t *bytes, size_t n);

#endif
