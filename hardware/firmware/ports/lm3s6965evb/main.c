/* The node on the Stellaris LM3S6965 evaluation board as QEMU emulates it (`-machine lm3s6965evb`).
 *
 * UART0 is the controller's port, UART1 the monitor's, Ethernet the plant's (plant.h, ethernet.h). The
 * emergency stop is port E, pin 0, low when pressed. Register names and addresses are
 * those of the LM3S6965 data sheet (Texas Instruments SPMS046): system control table 5-7, GPTM table 10-4,
 * watchdog table 11-1, GPIO table 9-3, UART table 13-2. */
#include "ethernet.h"
#include "plant.h"
#include "start.h"

#define SYSCTL_RCGC1 REG(0x400fe104u) /* clocks of UARTs and timers */
#define SYSCTL_RCGC2 REG(0x400fe108u) /* clocks of GPIO ports */
#define UART(port) (0x4000c000u + 0x1000u * (uint32_t)(port))
#define UART_DR(port) REG(UART(port) + 0x000u)
#define UART_FR(port) REG(UART(port) + 0x018u)
#define UART_IBRD(port) REG(UART(port) + 0x024u)
#define UART_FBRD(port) REG(UART(port) + 0x028u)
#define UART_LCRH(port) REG(UART(port) + 0x02cu)
#define UART_CTL(port) REG(UART(port) + 0x030u)
#define UART_IM(port) REG(UART(port) + 0x038u)
#define UART_ICR(port) REG(UART(port) + 0x044u)
#define TIMER_CFG REG(0x40030000u)
#define TIMER_TAMR REG(0x40030004u)
#define TIMER_CTL REG(0x4003000cu)
#define TIMER_IMR REG(0x40030018u)
#define TIMER_ICR REG(0x40030024u)
#define TIMER_TAILR REG(0x40030028u)
#define WDT_LOAD REG(0x40000000u)
#define WDT_CTL REG(0x40000008u)
#define WDT_ICR REG(0x4000000cu)
#define WDT_LOCK REG(0x40000c00u)
#define WDT_KEY 0x1acce551u
#define GPIO_E_DATA0 REG(0x40024004u) /* address bits 2..9 mask the pins: pin 0 alone */
#define GPIO_E_DEN REG(0x4002451cu)

enum {
    CLOCK_HZ = 12500000, /* after reset: 200 MHz divided by 16 (RCC SYSDIV) */
    FR_TXFF = 0x20, FR_RXFE = 0x10,
    INT_RX = 0x10, INT_RT = 0x40,
    IRQ_UART0 = 5, IRQ_UART1 = 6, IRQ_WATCHDOG = 18, IRQ_TIMER0 = 19, IRQ_ETHERNET = 42,
    HEARTBEAT_MS = 100, HEARTBEAT_MAX_MS = 1000,
    UARTS = 2, PLANT = UARTS, RINGS,
    ALIVE = 0x600d600d,
};

/* Outlives a reset: tells a reset from power-on, and makes every start's random numbers its own. */
struct kept {
    uint32_t seed, heartbeat_ms; /* set by the emulator as it loads the image, as straps on a board would be */
    uint32_t alive, watchdog, starts;
};

static struct kept kept __attribute__((section(".kept")));
static struct node node;
static struct plant plant;
static struct ring rings[RINGS];
static volatile uint32_t wraps; /* of SysTick; each takes 1.3 s */
static uint64_t random_state;

/* ---- interrupts ------------------------------------------------------------------------------- */

static void receive(int port)
{
    UART_ICR(port) = INT_RX | INT_RT; /* before draining: what arrives meanwhile asks again */
    for (int i = 0; i < RING_SIZE && !(UART_FR(port) & FR_RXFE); i++) {
        ring_put(&rings[port], (uint8_t)UART_DR(port));
    }
}

static void on_uart0(void) { receive(0); }
static void on_uart1(void) { receive(1); }
static void on_ethernet(void) { ethernet_receive(&rings[PLANT]); }
static void on_timer(void) { TIMER_ICR = 1; } /* its purpose is to end the sleep */
static void on_systick(void) { wraps++; }

/* First time-out without a kick: the main loop hangs. Note it, do not clear it: the second one resets. */
static void on_watchdog(void)
{
    kept.watchdog = ALIVE;
    hang();
}

#define EXCEPTION(n) [n]
#define INTERRUPT(n) [16 + (n)]

static const vector vectors[16 + 44] __attribute__((section(".vectors"), used)) = {
    EXCEPTION(0) = (vector)link_stack_top,
    EXCEPTION(1) = start,
    EXCEPTION(2) = hang, EXCEPTION(3) = hang, EXCEPTION(4) = hang, EXCEPTION(5) = hang, EXCEPTION(6) = hang,
    EXCEPTION(11) = hang, EXCEPTION(12) = hang, EXCEPTION(14) = hang,
    EXCEPTION(15) = on_systick,
    INTERRUPT(IRQ_UART0) = on_uart0,
    INTERRUPT(IRQ_UART1) = on_uart1,
    INTERRUPT(IRQ_ETHERNET) = on_ethernet,
    INTERRUPT(IRQ_WATCHDOG) = on_watchdog,
    INTERRUPT(IRQ_TIMER0) = on_timer,
};

/* ---- what the core asks for ------------------------------------------------------------------- */

/* A free-running counter and its wraps, never ticks counted: interrupts of an emulator coalesce. */
static uint64_t now_us(void *context)
{
    static uint64_t newest;
    uint32_t before = wraps, count = SYST_TOP - SYST_CVR;
    (void)context;
    if (before != wraps) { /* wrapped between the two reads: once in 1.3 s, so not twice */
        before = wraps;
        count = SYST_TOP - SYST_CVR;
    }
    uint64_t ticks = (uint64_t)before * (SYST_TOP + 1u) + count;
    if (ticks < newest) { /* wrapped, and its interrupt has not been taken yet */
        ticks += SYST_TOP + 1u;
    }
    newest = ticks;
    return ticks * 2 / 25; /* 12.5 MHz */
}

static uint32_t entropy(void *context)
{
    (void)context;
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15) + SYST_CVR; /* splitmix64 */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

/* A byte takes 87 us at 115,200 baud; the emulator takes it at once. A line that stays busy loses it. */
static void send(void *context, int port, const uint8_t *bytes, uint16_t n)
{
    (void)context;
    for (uint16_t i = 0; i < n; i++) {
        for (uint32_t tries = 0; tries < 100000 && (UART_FR(port) & FR_TXFF); tries++) {
        }
        UART_DR(port) = bytes[i];
    }
}

static int fresh(void)
{
    return plant.heard_us != 0 && now_us(0) - plant.heard_us <= PLANT_FRESH_US;
}

static int channel(void *context, int i, int32_t *counts)
{
    (void)context;
    *counts = plant.counts[i];
    return fresh() && (plant.valid >> i & 1);
}

static int32_t position(void *context, int actuator)
{
    int32_t counts = 0;
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        if (CHANNEL_FOLLOWS[i] == actuator && channel(context, i, &counts)) {
            return counts;
        }
    }
    return plant.driven[actuator];
}

static void drive(void *context, int i, int32_t counts)
{
    (void)context;
    plant.driven[i] = counts;
}

/* QEMU's GPIO forgets the levels of its inputs on a reset and reads low: the pin counts from when it was first
 * seen high. A real board must not do so: there low is pressed from the start. */
static int estop(void *context)
{
    static int pin_known;
    int released = (int)(GPIO_E_DATA0 & 1);
    (void)context;
    pin_known |= released;
    return plant.estop || (pin_known && !released);
}

static uint32_t supply_mv(void *context)
{
    (void)context;
    return plant.supply_mv;
}

static void kick(void *context)
{
    (void)context;
    plant.kicks++;
    if (!plant.wedge) {
        WDT_LOCK = WDT_KEY; /* unlocked only here, so that a runaway cannot kick by accident */
        WDT_ICR = 1;
        WDT_LOCK = 0;
    }
}

static const struct hal hal = {0, now_us, entropy, send, channel, position, drive, estop, supply_mv, kick, 0};

/* ---- start and main loop ---------------------------------------------------------------------- */

static void init_uart(int port)
{
    UART_CTL(port) = 0;
    UART_IBRD(port) = CLOCK_HZ / (16 * 115200);
    UART_FBRD(port) = (CLOCK_HZ % (16 * 115200) * 64 + 8 * 115200) / (16 * 115200);
    UART_LCRH(port) = 0x70; /* 8N1, FIFOs on */
    UART_IM(port) = INT_RX | INT_RT;
    UART_CTL(port) = 0x301; /* on, both directions */
}

static uint8_t init_board(uint32_t watchdog_ms)
{
    uint8_t cause = RESET_CAUSE_POWER_ON;
    if (kept.alive == ALIVE) {
        cause = kept.watchdog == ALIVE ? RESET_CAUSE_WATCHDOG : RESET_CAUSE_BROWN_OUT;
    }
    kept.starts = kept.alive == ALIVE ? kept.starts + 1 : 0;
    kept.alive = ALIVE;
    kept.watchdog = 0;
    random_state = (uint64_t)kept.seed << 32 | kept.starts;

    SYSCTL_RCGC1 = 0x00010003; /* timer 0, UARTs */
    SYSCTL_RCGC2 = 0x50000010; /* port E, Ethernet (both halves) */
    SYST_RVR = SYST_TOP;
    SYST_CVR = 0;
    SYST_CSR = 7;
    for (uint32_t tries = 0; tries < 1000000 && SYST_CVR == 0; tries++) { /* until it has its first value */
    }
    GPIO_E_DEN = 1;
    for (int port = 0; port < UARTS; port++) {
        init_uart(port);
    }
    TIMER_CFG = 0; /* 32 bits, periodic, every millisecond */
    TIMER_TAMR = 2;
    TIMER_TAILR = CLOCK_HZ / 1000 - 1;
    TIMER_IMR = 1;
    TIMER_CTL = 1;
    WDT_LOCK = WDT_KEY;
    WDT_LOAD = CLOCK_HZ / 1000 * watchdog_ms;
    WDT_CTL = 3; /* interrupt first, reset second; cannot be switched off again */
    WDT_LOCK = 0;
    NVIC_ENABLE(IRQ_UART0);
    NVIC_ENABLE(IRQ_UART1);
    NVIC_ENABLE(IRQ_WATCHDOG);
    NVIC_ENABLE(IRQ_TIMER0);
    ethernet_init();
    NVIC_ENABLE(IRQ_ETHERNET);
    return cause;
}

static void take(int port, uint64_t start_us)
{
    uint8_t byte;
    for (int i = 0; i < RING_SIZE && ring_get(&rings[port], &byte); i++) {
        if (port == PLANT) {
            plant_take(&plant, byte, start_us);
        } else {
            node_receive(&node, port, &byte, 1);
        }
    }
}

int main(void)
{
    uint8_t wire[FRAME_WIRE_MAX] = {0};
    plant_init(&plant);
    struct node_config config = {.heartbeat_ms = HEARTBEAT_MS, .uid = "qemu-lm3"};
    if (kept.heartbeat_ms >= HEARTBEAT_MS / 2 && kept.heartbeat_ms <= HEARTBEAT_MAX_MS) {
        config.heartbeat_ms = kept.heartbeat_ms;
    }
    /* The first time-out without a kick interrupts, the second resets: after twice the heartbeat's. */
    config.reset_cause = init_board(config.heartbeat_ms);
    node_init(&node, &hal, &config);
    for (;;) {
        for (int port = 0; port < RINGS; port++) {
            take(port, now_us(0));
        }
        node_step(&node);
        ethernet_send(wire, plant_report(&plant, &node, now_us(0), wire));
        interrupts_off(); /* an interrupt between the look and the sleep must not be slept through */
        if (rings[0].head == rings[0].tail && rings[1].head == rings[1].tail &&
            rings[PLANT].head == rings[PLANT].tail) {
            wait_for_interrupt();
        }
        interrupts_on();
    }
}
