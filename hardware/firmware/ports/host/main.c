/* The node as a process with two serial ports (ptys), in real time.
 *
 *   node HEARTBEAT_MS SEED
 *
 * Writes to stdout the names of its ports, then a line at every change of state:
 *   port 0 /dev/pts/3
 *   state 3 reason 1 at 123456789
 * (times are CLOCK_MONOTONIC microseconds). Reads from stdin what happens to it:
 *   estop 0|1, supply MV, channel I COUNTS, silent I, free I, reset CAUSE
 * and ends when stdin does, so that it never outlives who started it. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "bench.h"

static struct bench bench; /* too large for a stack */

static int open_port(int port)
{
    struct termios raw;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        return -1;
    }
    /* Held open so that the line survives its users; raw, as a serial line is. */
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0 || tcgetattr(slave, &raw) != 0) {
        return -1;
    }
    raw.c_iflag = raw.c_oflag = raw.c_lflag = 0;
    raw.c_cflag = CS8 | CREAD | CLOCAL;
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(slave, TCSANOW, &raw) != 0) {
        return -1;
    }
    printf("port %d %s\n", port, ptsname(master));
    return master;
}

static void obey(const char *line)
{
    unsigned a = 0;
    int b = 0;
    if (sscanf(line, "estop %u", &a) == 1) {
        bench.estop = a != 0;
    } else if (sscanf(line, "supply %u", &a) == 1) {
        bench.supply_mv = a;
    } else if (sscanf(line, "channel %u %d", &a, &b) == 2 && a < CHANNEL_COUNT) {
        bench.forced[a] = b;
        bench.is_forced[a] = 1;
    } else if (sscanf(line, "silent %u", &a) == 1 && a < CHANNEL_COUNT) {
        bench.silent[a] = 1;
    } else if (sscanf(line, "free %u", &a) == 1 && a < CHANNEL_COUNT) {
        bench.is_forced[a] = bench.silent[a] = 0;
    } else if (sscanf(line, "reset %u", &a) == 1) {
        bench_reset(&bench, (uint8_t)a);
    } else {
        fprintf(stderr, "not understood: %s\n", line);
    }
}

/* Obey whole lines; returns 0 at the end of input. */
static int read_orders(void)
{
    static char text[256];
    static size_t used;
    ssize_t got = read(STDIN_FILENO, text + used, sizeof text - 1 - used);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
        return 0;
    }
    used += got > 0 ? (size_t)got : 0;
    char *end;
    while ((end = memchr(text, '\n', used)) != NULL) {
        *end = 0;
        obey(text);
        used -= (size_t)(end + 1 - text);
        memmove(text, end + 1, used);
    }
    if (used == sizeof text - 1) {
        used = 0;
    }
    return 1;
}

static void write_out(int fd, int port)
{
    uint32_t n = bench.used[port];
    if (n == 0) {
        return;
    }
    ssize_t sent = write(fd, bench.out[port], n);
    if (sent < (ssize_t)n) {
        bench.dropped++; /* nobody reads: what does not fit is lost, as on a wire */
    }
    bench.used[port] = 0;
}

static void tell_state(int *known)
{
    int state = bench.node.safety.state;
    if (state != *known) {
        *known = state;
        printf("state %d reason %d at %" PRIu64 "\n", state, bench.node.safety.reason,
               bench.hal.now_us(bench.hal.context));
    }
}

int main(int count, char **words)
{
    struct pollfd fds[NODE_PORTS + 1] = {{.fd = STDIN_FILENO, .events = POLLIN}};
    uint8_t bytes[4096];
    int known = -1;
    if (count != 3 || atoi(words[1]) <= 0) {
        fprintf(stderr, "usage: node HEARTBEAT_MS SEED\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int port = 0; port < NODE_PORTS; port++) {
        int fd = open_port(port);
        if (fd < 0) {
            perror("node: no pty");
            return 3;
        }
        fds[port + 1] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    bench_init(&bench, (uint32_t)atoi(words[1]), strtoull(words[2], NULL, 10), 1);
    for (;;) {
        poll(fds, NODE_PORTS + 1, 1);
        if (fds[0].revents && !read_orders()) {
            return 0;
        }
        for (int port = 0; port < NODE_PORTS; port++) {
            ssize_t got = fds[port + 1].revents & POLLIN ? read(fds[port + 1].fd, bytes, sizeof bytes) : 0;
            if (got > 0) {
                node_receive(&bench.node, port, bytes, (uint32_t)got);
            }
        }
        node_step(&bench.node);
        tell_state(&known);
        for (int port = 0; port < NODE_PORTS; port++) {
            write_out(fds[port + 1].fd, port);
        }
    }
}
