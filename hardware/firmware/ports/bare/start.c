/* What runs before main on a Cortex-M3, and the memory functions the compiler may call. */
#include "start.h"

extern uint32_t link_data_load[], link_data_start[], link_data_end[], link_bss_start[], link_bss_end[];

void *memcpy(void *to, const void *from, size_t n)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    for (size_t i = 0; i < n; i++) {
        t[i] = f[i];
    }
    return to;
}

void *memset(void *to, int value, size_t n)
{
    uint8_t *t = to;
    for (size_t i = 0; i < n; i++) {
        t[i] = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const uint8_t *x = a, *y = b;
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

void start(void)
{
    /* The linker's marks are addresses, not objects: they are compared as numbers. */
    size_t data = ((uintptr_t)link_data_end - (uintptr_t)link_data_start) / sizeof(uint32_t);
    size_t bss = ((uintptr_t)link_bss_end - (uintptr_t)link_bss_start) / sizeof(uint32_t);
    for (size_t i = 0; i < data; i++) {
        link_data_start[i] = link_data_load[i];
    }
    for (size_t i = 0; i < bss; i++) {
        link_bss_start[i] = 0;
    }
    main();
    hang();
}

/* Whatever was not foreseen: stand still and let the hardware watchdog reset the chip. */
void hang(void)
{
    for (;;) {
    }
}
