/* Shared by the ports to bare Cortex-M3 chips. */
#ifndef START_H
#define START_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define REG(address) (*(volatile uint32_t *)(address))

/* SysTick and the interrupt controller: ARMv7-M Architecture Reference Manual, B3.3 and B3.4. */
#define SYST_CSR REG(0xe000e010u)
#define SYST_RVR REG(0xe000e014u)
#define SYST_CVR REG(0xe000e018u)
#define NVIC_ENABLE(irq) (REG(0xe000e100u + 4u * ((irq) / 32u)) = 1u << ((irq) % 32u))

enum { SYST_TOP = 0xffffff };

typedef void (*vector)(void);

extern uint32_t link_stack_top[];

int main(void);
void start(void);
void hang(void);

static inline void interrupts_off(void)
{
    __asm volatile("cpsid i" ::: "memory");
}

static inline void interrupts_on(void)
{
    __asm volatile("cpsie i" ::: "memory");
}

static inline void wait_for_interrupt(void)
{
    __asm volatile("wfi" ::: "memory");
}

/* Bytes between an interrupt and the main loop: one writer, one reader, a power of two long. */
enum { RING_SIZE = 1024 };

struct ring {
    volatile uint32_t head, tail;
    uint8_t bytes[RING_SIZE];
};

/* 0 when full: what does not fit is lost, as on a wire; the checksum tells. */
static inline int ring_put(struct ring *r, uint8_t byte)
{
    if (r->head - r->tail == RING_SIZE) {
        return 0;
    }
    r->bytes[r->head % RING_SIZE] = byte;
    __asm volatile("dmb" ::: "memory");
    r->head++;
    return 1;
}

static inline int ring_get(struct ring *r, uint8_t *byte)
{
    if (r->head == r->tail) {
        return 0;
    }
    *byte = r->bytes[r->tail % RING_SIZE];
    __asm volatile("dmb" ::: "memory");
    r->tail++;
    return 1;
}

static inline uint32_t ring_room(const struct ring *r)
{
    return RING_SIZE - (r->head - r->tail);
}

#endif
