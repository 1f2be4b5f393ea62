/* The node: sessions, commands, events and streams over the safety core. No allocation; every loop is
 * bounded; time and hardware come from the port through struct hal. */
#ifndef NODE_H
#define NODE_H

#include <stdint.h>

#include "frame.h"
#include "outputs.h"
#include "safety.h"

enum { NODE_PORTS = 2, NODE_EVENTS = 8, NODE_ANSWERS = 4 };

/* Which sources this is: the first 32 bits of their digest, given by the build; 0 says nobody knows. */
#ifndef NODE_BUILD
#define NODE_BUILD 0u
#endif

/* What a port gives. now_us is a free-running counter, never ticks counted. */
struct hal {
    void *context;
    uint64_t (*now_us)(void *context);
    uint32_t (*entropy)(void *context);
    void (*send)(void *context, int port, const uint8_t *bytes, uint16_t n);
    int (*channel)(void *context, int i, int32_t *counts); /* 1 when the sensor answered */
    int32_t (*position)(void *context, int i);             /* where an actuator is measured to be */
    void (*drive)(void *context, int i, int32_t counts);
    int (*estop)(void *context); /* 1 when pressed; a cut cable reads as pressed */
    uint32_t (*supply_mv)(void *context);
    void (*kick)(void *context);                                                    /* hardware watchdog */
    void (*executed)(void *context, uint32_t session, uint16_t seq, uint8_t kind); /* trace; may be 0 */
};

struct node_config {
    uint32_t heartbeat_ms;
    uint8_t reset_cause;
    uint8_t uid[8];
};

struct answer {
    uint8_t kind, refusal;
    uint16_t seq;
    uint32_t detail;
};

/* Commands of one session: what was answered, so that a repeat is answered alike and not done again. */
struct command_log {
    uint16_t newest;
    uint8_t any, next, used;
    struct answer answers[NODE_ANSWERS];
};

struct pending_event {
    uint8_t waiting;
    uint64_t sent_us;
    struct msg_event event;
};

struct node {
    const struct hal *hal;
    struct node_config config;
    struct safety safety;
    struct outputs outputs;
    struct decoder decoders[NODE_PORTS];
    struct command_log logs[2];
    struct pending_event events[NODE_EVENTS];
    uint16_t event_number, events_lost;
    uint32_t boot, telemetry_number, executed, duplicates, rejected, refused;
    uint64_t stepped_us, status_us, telemetry_us;
    uint8_t self_test; /* 0 is passed; else the number of the part that failed */
};

void node_init(struct node *n, const struct hal *hal, const struct node_config *config);

/* Take bytes that arrived on a port. */
void node_receive(struct node *n, int port, const uint8_t *bytes, uint32_t count);

/* Watch, move and report; to be called at least every millisecond. */
void node_step(struct node *n);

#endif
