#include "node.h"

#include <string.h>

static uint64_t now(const struct node *n)
{
    return n->hal->now_us(n->hal->context);
}

static uint32_t fresh(const struct node *n)
{
    uint32_t number = n->hal->entropy(n->hal->context);
    return number ? number : 1;
}

/* ---- sending ---------------------------------------------------------------------------------- */

static void send(struct node *n, int port, struct frame *f)
{
    uint8_t wire[FRAME_WIRE_MAX];
    f->t_us = (uint32_t)now(n);
    f->length = (uint8_t)protocol_payload_size(f->kind);
    n->hal->send(n->hal->context, port, wire, (uint16_t)frame_encode(f, wire));
}

static void broadcast(struct node *n, struct frame *f)
{
    f->session = n->boot;
    for (int port = 0; port < NODE_PORTS; port++) {
        send(n, port, f);
    }
}

static void send_answer(struct node *n, int port, uint32_t session, const struct answer *a)
{
    struct frame f = {.kind = a->kind, .seq = a->seq, .session = session};
    if (a->kind == MSG_ACK) {
        struct msg_ack m = {a->detail};
        msg_ack_pack(&m, f.payload);
    } else {
        struct msg_nak m = {a->refusal, a->detail};
        msg_nak_pack(&m, f.payload);
    }
    send(n, port, &f);
}

/* ---- events ----------------------------------------------------------------------------------- */

static void log_event(struct node *n, enum occurrence occurrence, uint32_t detail)
{
    for (int i = 0; i < NODE_EVENTS; i++) {
        struct pending_event *e = &n->events[i];
        if (!e->waiting) {
            e->waiting = 1;
            e->sent_us = 0;
            e->event = (struct msg_event){++n->event_number, (uint8_t)occurrence, n->safety.reason,
                                          (uint32_t)now(n), detail};
            return;
        }
    }
    n->events_lost++; /* the oldest are kept: the first cause matters most */
}

static void send_events(struct node *n, uint64_t now_us)
{
    for (int i = 0; i < NODE_EVENTS; i++) {
        struct pending_event *e = &n->events[i];
        if (e->waiting && (e->sent_us == 0 || now_us - e->sent_us >= LIMIT_EVENT_REPEAT_MS * 1000)) {
            struct frame f = {.kind = MSG_EVENT};
            msg_event_pack(&e->event, f.payload);
            broadcast(n, &f);
            e->sent_us = now_us;
        }
    }
}

static void note(struct node *n, unsigned found)
{
    if (found & FOUND_TRIP) {
        outputs_release(&n->outputs);
        log_event(n, OCCURRENCE_TRIPPED, 0);
    }
    if (found & FOUND_PRESS) {
        log_event(n, OCCURRENCE_ESTOP_PRESSED, n->safety.estop_presses);
    }
    if (found & FOUND_RELEASE) {
        log_event(n, OCCURRENCE_ESTOP_RELEASED, 0);
    }
}

/* ---- commands --------------------------------------------------------------------------------- */

static enum refusal set(struct node *n, const uint8_t *payload)
{
    struct msg_setpoints m;
    msg_setpoints_unpack(&m, payload);
    if (n->safety.state != STATE_ARMED) {
        return REFUSAL_NOT_ARMED;
    }
    enum refusal refusal = outputs_check(&m, now(n));
    if (refusal == REFUSAL_NONE) {
        outputs_set(&n->outputs, &m, now(n));
    }
    return refusal;
}

static enum refusal arm(struct node *n)
{
    enum refusal refusal = safety_arm(&n->safety, now(n));
    if (refusal == REFUSAL_NONE) {
        /* Whatever was driven before is history: start from where things are. */
        for (int i = 0; i < ACTUATOR_COUNT; i++) {
            outputs_place(&n->outputs, i, n->hal->position(n->hal->context, i));
        }
        log_event(n, OCCURRENCE_ARMED, 0);
    }
    return refusal;
}

static enum refusal disarm(struct node *n)
{
    if (n->safety.state == STATE_ARMED) {
        n->safety.state = STATE_IDLE;
        outputs_release(&n->outputs);
        log_event(n, OCCURRENCE_DISARMED, 0);
    }
    return REFUSAL_NONE;
}

static enum refusal request_clear(struct node *n, uint32_t *detail)
{
    if (n->safety.state != STATE_SAFE) {
        return REFUSAL_NOT_SAFE;
    }
    n->safety.clear_nonce = *detail = fresh(n);
    n->safety.clear_us = now(n);
    return REFUSAL_NONE;
}

static enum refusal clear(struct node *n, const uint8_t *payload)
{
    struct msg_clear m;
    msg_clear_unpack(&m, payload);
    enum refusal refusal = safety_clear(&n->safety, &m, now(n));
    if (refusal == REFUSAL_NONE) {
        log_event(n, OCCURRENCE_CLEARED, m.operator);
    }
    return refusal;
}

static enum refusal execute(struct node *n, int role, const struct frame *f, uint32_t *detail)
{
    if (f->kind == MSG_STOP) {
        note(n, safety_trip(&n->safety, REASON_STOP_REQUESTED, now(n)));
        return REFUSAL_NONE;
    }
    if (role != ROLE_CONTROLLER) {
        return REFUSAL_WRONG_ROLE;
    }
    switch (f->kind) {
    case MSG_SETPOINTS:
        return set(n, f->payload);
    case MSG_ARM:
        return arm(n);
    case MSG_DISARM:
        return disarm(n);
    case MSG_REQUEST_CLEAR:
        return request_clear(n, detail);
    case MSG_CLEAR:
        return clear(n, f->payload);
    default:
        return REFUSAL_UNKNOWN_MESSAGE;
    }
}

static struct answer *answered(struct command_log *log, uint16_t seq)
{
    for (int i = 0; i < log->used; i++) {
        if (log->answers[i].seq == seq) {
            return &log->answers[i];
        }
    }
    return 0;
}

static void remember(struct command_log *log, const struct answer *a)
{
    log->answers[log->next] = *a;
    log->next = (uint8_t)((log->next + 1) % NODE_ANSWERS);
    if (log->used < NODE_ANSWERS) {
        log->used++;
    }
    log->newest = a->seq;
    log->any = 1;
}

static void do_command(struct node *n, int port, int role, const struct frame *f)
{
    struct command_log *log = &n->logs[role - 1];
    struct answer *old = answered(log, f->seq);
    if (old) {
        n->duplicates++;
        send_answer(n, port, f->session, old);
        return;
    }
    /* Older than something already done: its sender has given it up and must not be surprised. */
    if (log->any && (int16_t)(f->seq - log->newest) <= 0) {
        n->refused++;
        return;
    }
    struct answer a = {.kind = MSG_ACK, .seq = f->seq};
    enum refusal refusal = execute(n, role, f, &a.detail);
    if (refusal != REFUSAL_NONE) {
        a.kind = MSG_NAK;
        a.refusal = (uint8_t)refusal;
        n->refused++;
    } else {
        n->executed++;
        if (n->hal->executed) {
            n->hal->executed(n->hal->context, f->session, f->seq, f->kind);
        }
    }
    remember(log, &a);
    send_answer(n, port, f->session, &a);
}

/* ---- everything else that arrives ------------------------------------------------------------- */

static int role_of(const struct node *n, uint32_t session)
{
    for (int role = 1; role <= 2; role++) {
        if (n->safety.peers[role - 1].open && n->safety.peers[role - 1].session == session) {
            return role;
        }
    }
    return ROLE_NONE;
}

static void identify(struct node *n, int port)
{
    struct frame f = {.kind = MSG_IDENTITY, .session = n->boot};
    struct msg_identity m = {.fingerprint = PROTOCOL_FINGERPRINT,
                             .boot = n->boot,
                             .firmware = NODE_BUILD,
                             .reset_cause = n->config.reset_cause,
                             .self_test = n->self_test,
                             .heartbeat_ms = (uint16_t)n->config.heartbeat_ms};
    memcpy(m.uid, n->config.uid, sizeof m.uid);
    msg_identity_pack(&m, f.payload);
    send(n, port, &f);
}

static void refuse(struct node *n, int port, const struct frame *f, enum refusal refusal)
{
    struct answer a = {.kind = MSG_NAK, .refusal = (uint8_t)refusal, .seq = f->seq};
    n->refused++;
    send_answer(n, port, f->session, &a);
}

static void open_session(struct node *n, int port, const struct frame *in)
{
    struct msg_open m;
    msg_open_unpack(&m, in->payload);
    if (m.role != ROLE_CONTROLLER && m.role != ROLE_MONITOR) {
        refuse(n, port, in, REFUSAL_WRONG_ROLE);
        return;
    }
    struct peer *p = &n->safety.peers[m.role - 1];
    if (!p->open || p->nonce != m.nonce) {
        if (peer_alive(&n->safety, m.role, now(n))) { /* one controller, one monitor */
            refuse(n, port, in, REFUSAL_IN_USE);
            return;
        }
        uint32_t session = fresh(n);
        for (int tries = 0; tries < 8 && role_of(n, session) != ROLE_NONE; tries++) {
            session = fresh(n);
        }
        *p = (struct peer){.open = 1, .nonce = m.nonce, .session = session, .key = fresh(n)};
        n->logs[m.role - 1] = (struct command_log){0};
    }
    struct frame f = {.kind = MSG_OPENED, .session = p->session};
    struct msg_opened reply = {m.role, m.nonce, p->session, p->key};
    msg_opened_pack(&reply, f.payload);
    send(n, port, &f);
}

static void sync_clocks(struct node *n, int port, const struct frame *in, uint64_t received_us)
{
    struct msg_sync m;
    msg_sync_unpack(&m, in->payload);
    struct frame f = {.kind = MSG_SYNC_REPLY, .session = n->boot};
    struct msg_sync_reply reply = {m.host_ns, received_us, now(n)};
    msg_sync_reply_pack(&reply, f.payload);
    send(n, port, &f);
}

static void acknowledge_event(struct node *n, const struct frame *in)
{
    struct msg_event_ack m;
    msg_event_ack_unpack(&m, in->payload);
    for (int i = 0; i < NODE_EVENTS; i++) {
        if (n->events[i].waiting && n->events[i].event.number == m.number) {
            n->events[i].waiting = 0;
        }
    }
}

static void take_stream(struct node *n, int role, const struct frame *f)
{
    if (f->kind == MSG_HEARTBEAT) {
        struct msg_heartbeat m;
        msg_heartbeat_unpack(&m, f->payload);
        if (safety_heartbeat(&n->safety, role, &m, now(n))) {
            return;
        }
    } else if (f->kind == MSG_EVENT_ACK && role == ROLE_CONTROLLER) {
        acknowledge_event(n, f);
        return;
    }
    n->refused++;
}

static void take(struct node *n, int port, const struct frame *f)
{
    uint64_t received_us = now(n);
    int size = protocol_payload_size(f->kind), role = role_of(n, f->session);
    if (size < 0 || size != f->length) {
        refuse(n, port, f, size < 0 ? REFUSAL_UNKNOWN_MESSAGE : REFUSAL_BAD_LENGTH);
    } else if (f->kind == MSG_IDENTIFY) {
        identify(n, port);
    } else if (f->kind == MSG_OPEN) {
        open_session(n, port, f);
    } else if (f->kind == MSG_SYNC) {
        sync_clocks(n, port, f, received_us);
    } else if (role == ROLE_NONE) {
        if (f->kind == MSG_STOP) { /* stopping needs no permission */
            note(n, safety_trip(&n->safety, REASON_STOP_REQUESTED, received_us));
        }
        refuse(n, port, f, REFUSAL_STALE_SESSION);
    } else if (protocol_is_command(f->kind)) {
        do_command(n, port, role, f);
    } else {
        take_stream(n, role, f);
    }
}

void node_receive(struct node *n, int port, const uint8_t *bytes, uint32_t count)
{
    struct frame f;
    for (uint32_t i = 0; i < count; i++) {
        switch (decoder_take(&n->decoders[port], bytes[i], &f)) {
        case FRAME_GOOD:
            take(n, port, &f);
            break;
        case FRAME_BAD:
            n->rejected++;
            break;
        case FRAME_NONE:
            break;
        }
    }
}

/* ---- streams and the step --------------------------------------------------------------------- */

static void send_status(struct node *n, uint64_t now_us)
{
    const struct safety *s = &n->safety;
    struct frame f = {.kind = MSG_STATUS};
    struct msg_status m = {
        .state = s->state,
        .reason = s->reason,
        .estop = s->estop,
        .alive = (uint8_t)(peer_alive(s, ROLE_CONTROLLER, now_us) | peer_alive(s, ROLE_MONITOR, now_us) << 1),
        .trip_us = (uint32_t)s->trip_us,
        .supply_mv = (uint16_t)n->hal->supply_mv(n->hal->context),
        .lapsed = n->outputs.lapsed,
        .executed = n->executed,
        .duplicates = n->duplicates,
        .rejected = n->rejected,
        .refused = n->refused,
        .events_lost = n->events_lost,
        .estop_presses = s->estop_presses,
    };
    msg_status_pack(&m, f.payload);
    broadcast(n, &f);
}

static void send_telemetry(struct node *n)
{
    struct frame f = {.kind = MSG_TELEMETRY};
    struct msg_telemetry m = {.number = n->telemetry_number++};
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        if (n->hal->channel(n->hal->context, i, &m.counts[i])) {
            m.valid |= (uint16_t)(1u << i);
        }
    }
    msg_telemetry_pack(&m, f.payload);
    broadcast(n, &f);
}

void node_step(struct node *n)
{
    uint64_t now_us = now(n);
    uint32_t supply_mv = n->hal->supply_mv(n->hal->context);
    note(n, safety_step(&n->safety, now_us, n->hal->estop(n->hal->context), supply_mv));
    outputs_step(&n->outputs, now_us, (uint32_t)(now_us - n->stepped_us));
    n->stepped_us = now_us;
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        n->hal->drive(n->hal->context, i, n->outputs.position[i]);
    }
    n->hal->kick(n->hal->context); /* only after the safety work of this step is done */
    if (now_us - n->status_us >= LIMIT_STATUS_MS * 1000) {
        n->status_us = now_us;
        send_status(n, now_us);
    }
    if (now_us - n->telemetry_us >= LIMIT_TELEMETRY_MS * 1000) {
        n->telemetry_us = now_us;
        send_telemetry(n);
    }
    send_events(n, now_us);
}

/* ---- start ------------------------------------------------------------------------------------ */

static uint8_t self_test(void)
{
    static const uint8_t CHECK[9] = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
    static const uint8_t ZEROS[5] = {0, 1, 0, 0, 2};
    uint8_t packed[6], back[6];
    if (crc32(0, CHECK, sizeof CHECK) != 0xcbf43926u) { /* the catalogue's check value of CRC-32/ISO-HDLC */
        return 1;
    }
    size_t size = cobs_encode(ZEROS, sizeof ZEROS, packed);
    if (cobs_decode(packed, size, back) != sizeof ZEROS || memcmp(ZEROS, back, sizeof ZEROS) != 0) {
        return 2;
    }
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        const struct actuator_limit *a = &ACTUATOR_LIMITS[i];
        int inside = a->low <= a->safe_value && a->safe_value <= a->high;
        if (a->low >= a->high || a->rate <= 0 || (a->safe_action == SAFE_VALUE && !inside)) {
            return 3;
        }
    }
    return 0;
}

void node_init(struct node *n, const struct hal *hal, const struct node_config *config)
{
    memset(n, 0, sizeof *n);
    n->hal = hal;
    n->config = *config;
    n->boot = fresh(n);
    n->safety.heartbeat_us = config->heartbeat_ms * 1000;
    n->stepped_us = now(n);
    for (int i = 0; i < ACTUATOR_COUNT; i++) {
        outputs_place(&n->outputs, i, hal->position(hal->context, i));
    }
    n->self_test = self_test();
    n->safety.self_test_failed = n->self_test != 0;
    log_event(n, OCCURRENCE_BOOTED, config->reset_cause);
    if (n->self_test) {
        note(n, safety_trip(&n->safety, REASON_SELF_TEST, now(n)));
    } else if (config->reset_cause == RESET_CAUSE_WATCHDOG) {
        note(n, safety_trip(&n->safety, REASON_WATCHDOG_RESET, now(n)));
    } else {
        n->safety.state = STATE_IDLE;
    }
}
