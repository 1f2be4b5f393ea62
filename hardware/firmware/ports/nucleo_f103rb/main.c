/* The node on an ST NUCLEO-F103RB board. COMPILED ONLY: this port has never met a board. Before it may, go
 * through hardware/wiring.md, and through `runrig doctor` with the drives' power off.
 *
 * Sources: ST reference manual RM0008, revision 12 (1096 pages): clocks and reset flags section 7.3, GPIO
 * section 9.2, ADC section 11.12, timers section 15.4, watchdog section 19.3 and 19.4 (key values page 478,
 * time-outs table 96), USART section 27.6 (baud rates page 773, table 191), unique number section 30.2;
 * vectors and priorities section 10.1.2 table 61. Board: UM1724 section 6.8 (USART2 is the ST-LINK's port).
 *
 * Six hobby servos with a feedback wire move the arm. The bed is a Modbus device of its own and is not wired
 * to this board: its channels report that they have no sensor, its outputs drive nothing. */
#include "node.h"
#include "start.h"

#define RCC_CR REG(0x40021000u)
#define RCC_CFGR REG(0x40021004u)
#define RCC_APB2ENR REG(0x40021018u)
#define RCC_APB1ENR REG(0x4002101cu)
#define RCC_CSR REG(0x40021024u)
#define FLASH_ACR REG(0x40022000u)
#define GPIO(port, offset) REG(0x40010800u + 0x400u * (port) + (offset))
#define GPIO_CRL(port) GPIO(port, 0x00u)
#define GPIO_CRH(port) GPIO(port, 0x04u)
#define GPIO_IDR(port) GPIO(port, 0x08u)
#define GPIO_BSRR(port) GPIO(port, 0x10u)
#define USART_SR(u) REG((u) + 0x00u)
#define USART_DR(u) REG((u) + 0x04u)
#define USART_BRR(u) REG((u) + 0x08u)
#define USART_CR1(u) REG((u) + 0x0cu)
#define ADC_SR REG(0x40012400u)
#define ADC_CR2 REG(0x40012408u)
#define ADC_SMPR1 REG(0x4001240cu)
#define ADC_SMPR2 REG(0x40012410u)
#define ADC_SQR1 REG(0x4001242cu)
#define ADC_SQR3 REG(0x40012434u)
#define ADC_DR REG(0x4001244cu)
#define TIM3 0x40000400u
#define TIM4 0x40000800u
#define TIM_CR1(t) REG((t) + 0x00u)
#define TIM_EGR(t) REG((t) + 0x14u)
#define TIM_CCMR1(t) REG((t) + 0x18u)
#define TIM_CCMR2(t) REG((t) + 0x1cu)
#define TIM_CCER(t) REG((t) + 0x20u)
#define TIM_PSC(t) REG((t) + 0x28u)
#define TIM_ARR(t) REG((t) + 0x2cu)
#define TIM_CCR(t, n) REG((t) + 0x34u + 4u * (n))
#define IWDG_KR REG(0x40003000u)
#define IWDG_PR REG(0x40003004u)
#define IWDG_RLR REG(0x40003008u)
#define UNIQUE(i) REG(0x1ffff7e8u + 4u * (i))

enum { PORT_A, PORT_B, PORT_C };
enum {
    HCLK_HZ = 64000000, PCLK1_HZ = HCLK_HZ / 2, PCLK2_HZ = HCLK_HZ,
    BAUD = 460800, /* telemetry and status need 200 kbit/s */
    IRQ_USART1 = 37, IRQ_USART2 = 38,
    SR_RXNE = 0x20, SR_TXE = 0x80, SR_ERRORS = 0x0f, CR1_TXEIE = 0x80, CR1_ON = 0x202c, /* UE RXNEIE TE RE */
    CSR_RMVF = 1 << 24, CSR_SFTRSTF = 1 << 28, CSR_IWDGRSTF = 1 << 29,
    WATCHDOG_COUNTS = 250, /* of 40 kHz / 16: 100 ms; 67 to 133 ms over the oscillator's tolerance */
    HEARTBEAT_MS = 100,
    SERVO_PERIOD_US = 20000, SERVO_LOW_US = 500, SERVO_HIGH_US = 2500,
    ARM_JOINTS = 6, LAMP = 10, FORCE = 11, CURRENT = 13, THERMOMETER = 14,
    ADC_TOP = 4095, ADC_INPUTS = 10, ADC_SUPPLY = 9,
    ESTOP_PIN = 8, LAMP_PIN = 6, /* of port C */
};

/* A converter input: pin's ADC channel, the node's channel, and the values at both ends, in its counts. */
struct input {
    uint8_t adc, channel;
    int32_t at_zero, at_top;
};

static const struct input INPUTS[ADC_INPUTS] = {
    {0, 0, -280000, 280000},  {1, 1, -220000, 220000},  {4, 2, -280000, 280000}, /* PA0 PA1 PA4: servo feedback */
    {8, 3, -310000, 310000},  {10, 4, -220000, 220000}, {11, 5, -310000, 310000}, /* PB0 PC0 PC1 */
    {12, FORCE, 0, 50000},      /* PC2: load cell amplifier, 0 to 50 N */
    {14, CURRENT, 0, 20000},    /* PC4: bed current, 0 to 20 A */
    {15, THERMOMETER, -1000, 12000}, /* PC5: thermometer, -10 to 120 degC */
    {13, 255, 0, 36300},        /* PC3: supply through an 11:1 divider, mV */
};

struct port {
    uint32_t usart, irq;
    struct ring in, out;
};

static struct port ports[NODE_PORTS] = {{.usart = 0x40004400u, .irq = IRQ_USART2},  /* the ST-LINK's */
                                        {.usart = 0x40013800u, .irq = IRQ_USART1}}; /* the monitor's */
static struct node node;
static uint16_t converted[ADC_INPUTS];
static uint8_t converting, seen[ADC_INPUTS];
static volatile uint32_t wraps;
static uint64_t random_state;
static int32_t driven[ACTUATOR_COUNT];

/* ---- interrupts ------------------------------------------------------------------------------- */

static void serve(struct port *p)
{
    uint32_t status = USART_SR(p->usart);
    uint8_t byte;
    if (status & (SR_RXNE | SR_ERRORS)) {
        byte = (uint8_t)USART_DR(p->usart); /* reading it clears the errors too: the checksum will tell */
        if (status & SR_RXNE) {
            ring_put(&p->in, byte);
        }
    }
    if ((status & SR_TXE) && (USART_CR1(p->usart) & CR1_TXEIE)) {
        if (ring_get(&p->out, &byte)) {
            USART_DR(p->usart) = byte;
        } else {
            USART_CR1(p->usart) = CR1_ON;
        }
    }
}

static void on_usart1(void) { serve(&ports[1]); }
static void on_usart2(void) { serve(&ports[0]); }
static void on_systick(void) { wraps++; }

static const vector vectors[16 + 43] __attribute__((section(".vectors"), used)) = {
    [0] = (vector)link_stack_top, [1] = start, [2] = hang, [3] = hang, [4] = hang, [5] = hang, [6] = hang,
    [11] = hang, [12] = hang, [14] = hang, [15] = on_systick,
    [16 + IRQ_USART1] = on_usart1, [16 + IRQ_USART2] = on_usart2,
};

/* ---- what the core asks for ------------------------------------------------------------------- */

static uint64_t now_us(void *context)
{
    static uint64_t newest;
    uint32_t before = wraps, count = SYST_TOP - SYST_CVR;
    (void)context;
    if (before != wraps) {
        before = wraps;
        count = SYST_TOP - SYST_CVR;
    }
    uint64_t ticks = (uint64_t)before * (SYST_TOP + 1u) + count;
    if (ticks < newest) { /* wrapped, and its interrupt has not been taken yet */
        ticks += SYST_TOP + 1u;
    }
    newest = ticks;
    return ticks / 8; /* HCLK / 8 is 8 MHz */
}

static uint32_t entropy(void *context)
{
    /* No noise source on the chip: the lowest bits of every conversion, and when they were taken. */
    (void)context;
    for (int i = 0; i < ADC_INPUTS; i++) {
        random_state = random_state * UINT64_C(6364136223846793005) + converted[i] + SYST_CVR;
    }
    uint64_t z = random_state ^ (uint64_t)UNIQUE(0) << 32 ^ UNIQUE(1) ^ UNIQUE(2);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

static void send(void *context, int port, const uint8_t *bytes, uint16_t n)
{
    struct port *p = &ports[port];
    (void)context;
    if (ring_room(&p->out) < n) { /* nobody takes it: a whole frame is lost, never half of one */
        return;
    }
    for (uint16_t i = 0; i < n; i++) {
        ring_put(&p->out, bytes[i]);
    }
    USART_CR1(p->usart) = CR1_ON | CR1_TXEIE;
}

static int32_t scaled(int i)
{
    const struct input *in = &INPUTS[i];
    return in->at_zero + (int32_t)((int64_t)(in->at_top - in->at_zero) * converted[i] / ADC_TOP);
}

static int channel(void *context, int channel_number, int32_t *counts)
{
    (void)context;
    if (channel_number == LAMP) {
        *counts = driven[LAMP];
        return 1;
    }
    for (int i = 0; i < ADC_INPUTS; i++) {
        if (INPUTS[i].channel == channel_number) {
            *counts = scaled(i);
            /* The ends of the converter are an open or a shorted wire, not a reading. */
            return seen[i] && converted[i] > 8 && converted[i] < ADC_TOP - 8;
        }
    }
    *counts = 0;
    return 0;
}

static int32_t position(void *context, int actuator)
{
    int32_t counts;
    for (int i = 0; i < CHANNEL_COUNT; i++) {
        if (CHANNEL_FOLLOWS[i] == actuator && channel(context, i, &counts)) {
            return counts;
        }
    }
    return driven[actuator];
}

static void drive(void *context, int i, int32_t counts)
{
    const struct actuator_limit *a = &ACTUATOR_LIMITS[i];
    (void)context;
    driven[i] = counts;
    if (i < ARM_JOINTS) {
        uint32_t pulse = SERVO_LOW_US + (uint32_t)((int64_t)(SERVO_HIGH_US - SERVO_LOW_US) * (counts - a->low) /
                                                   (a->high - a->low));
        TIM_CCR(i < 4 ? TIM4 : TIM3, (uint32_t)(i < 4 ? i : i - 4)) = pulse;
    } else if (i == LAMP) {
        GPIO_BSRR(PORT_C) = 1u << (counts ? LAMP_PIN : LAMP_PIN + 16);
    }
}

/* The contact is normally closed to ground against a pull-up: pressed, or its cable cut, reads as one. */
static int estop(void *context)
{
    (void)context;
    return (int)(GPIO_IDR(PORT_C) >> ESTOP_PIN & 1);
}

static uint32_t supply_mv(void *context)
{
    (void)context;
    return seen[ADC_SUPPLY] ? (uint32_t)scaled(ADC_SUPPLY) : 24000;
}

static void kick(void *context)
{
    (void)context;
    IWDG_KR = 0xaaaa;
}

static const struct hal hal = {0, now_us, entropy, send, channel, position, drive, estop, supply_mv, kick, 0};

/* ---- start and main loop ---------------------------------------------------------------------- */

static int soon(volatile uint32_t *at, uint32_t mask)
{
    for (uint32_t tries = 0; tries < 1000000; tries++) {
        if ((*at & mask) == mask) {
            return 1;
        }
    }
    return 0;
}

static void init_clocks(void)
{
    FLASH_ACR = 0x12;                                    /* prefetch, two wait states above 48 MHz */
    RCC_CFGR = 0xeu << 18 | 4u << 8 | 2u << 14;          /* PLL 4 MHz x 16, APB1 / 2, ADC / 6 */
    RCC_CR |= 1u << 24;                                  /* PLL on */
    if (!soon(&RCC_CR, 1u << 25)) {
        hang();
    }
    RCC_CFGR |= 2;
    if (!soon(&RCC_CFGR, 2u << 2)) {
        hang();
    }
    RCC_APB2ENR = 1u << 0 | 7u << 2 | 1u << 9 | 1u << 14; /* AFIO, GPIO A B C, ADC1, USART1 */
    RCC_APB1ENR = 1u << 1 | 1u << 2 | 1u << 17;           /* TIM3, TIM4, USART2 */
    SYST_RVR = SYST_TOP;
    SYST_CVR = 0;
    SYST_CSR = 3; /* HCLK / 8, with its interrupt */
    for (uint32_t tries = 0; tries < 1000000 && SYST_CVR == 0; tries++) { /* until it has its first value */
    }
}

static void init_pins(void)
{
    GPIO_CRL(PORT_A) = 0xbb404b00u; /* PA7 PA6 servos; PA4 PA1 PA0 analog; PA3 in, PA2 USART2 out; PA5 in */
    GPIO_CRH(PORT_A) = 0x444444b4u; /* PA9 USART1 out */
    GPIO_CRL(PORT_B) = 0xbb444440u; /* PB7 PB6 servos, PB0 analog */
    GPIO_CRH(PORT_B) = 0x444444bbu; /* PB9 PB8 servos */
    GPIO_CRL(PORT_C) = 0x42000000u; /* PC6 lamp; PC5 to PC0 analog */
    GPIO_CRH(PORT_C) = 0x44444448u; /* PC8 emergency stop, with pull */
    GPIO_BSRR(PORT_C) = 1u << ESTOP_PIN | 1u << LAMP_PIN; /* pull up; the lamp is lit until armed */
}

static void init_servos(uint32_t timer)
{
    TIM_PSC(timer) = HCLK_HZ / 1000000 - 1;
    TIM_ARR(timer) = SERVO_PERIOD_US - 1;
    TIM_CCMR1(timer) = 0x6868; /* PWM mode 1, preloaded */
    TIM_CCMR2(timer) = 0x6868;
    TIM_CCER(timer) = timer == TIM4 ? 0x1111 : 0x0011;
    TIM_EGR(timer) = 1;
    TIM_CR1(timer) = 0x81;
}

static void init_port(const struct port *p, uint32_t clock_hz)
{
    USART_BRR(p->usart) = (clock_hz + BAUD / 2) / BAUD;
    USART_CR1(p->usart) = CR1_ON;
    NVIC_ENABLE(p->irq);
}

static void convert(void)
{
    if (ADC_SR & 2) { /* end of conversion */
        converted[converting] = (uint16_t)ADC_DR;
        seen[converting] = 1;
        converting = (uint8_t)((converting + 1) % ADC_INPUTS);
        ADC_SQR3 = INPUTS[converting].adc;
        ADC_CR2 |= 1u << 22; /* start the next one */
    }
}

static void init_converter(void)
{
    ADC_SMPR1 = 0x00ffffff; /* longest sampling: 239.5 cycles */
    ADC_SMPR2 = 0x3fffffff;
    ADC_SQR1 = 0;
    ADC_SQR3 = INPUTS[0].adc;
    ADC_CR2 = 1u | 7u << 17 | 1u << 20; /* on; started by software */
    ADC_CR2 |= 1u << 22;
    for (uint32_t k = 0; k < 100000u && !seen[ADC_INPUTS - 1]; k++) { /* every input once before anything moves */
        convert();
    }
}

int main(void)
{
    struct node_config config = {.heartbeat_ms = HEARTBEAT_MS, .reset_cause = RESET_CAUSE_POWER_ON};
    uint32_t why = RCC_CSR;
    if (why & CSR_IWDGRSTF) {
        config.reset_cause = RESET_CAUSE_WATCHDOG;
    } else if (why & CSR_SFTRSTF) {
        config.reset_cause = RESET_CAUSE_SOFTWARE;
    }
    RCC_CSR |= CSR_RMVF;
    for (uint32_t i = 0; i < sizeof config.uid; i++) {
        config.uid[i] = (uint8_t)(UNIQUE(i / 4) >> 8 * (i % 4));
    }
    init_clocks();
    init_pins();
    init_converter();
    init_servos(TIM3);
    init_servos(TIM4);
    IWDG_KR = 0x5555;
    IWDG_PR = 2; /* / 16 */
    IWDG_RLR = WATCHDOG_COUNTS;
    IWDG_KR = 0xaaaa;
    IWDG_KR = 0xcccc; /* from here on it cannot be stopped */
    node_init(&node, &hal, &config);
    init_port(&ports[0], PCLK1_HZ);
    init_port(&ports[1], PCLK2_HZ);
    for (;;) {
        uint8_t byte;
        convert();
        for (int p = 0; p < NODE_PORTS; p++) {
            for (int i = 0; i < RING_SIZE && ring_get(&ports[p].in, &byte); i++) {
                node_receive(&node, p, &byte, 1);
            }
        }
        node_step(&node);
    }
}
