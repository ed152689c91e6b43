// SPDX-License-Identifier: Apache-2.0
// Measures the lower limit of a command that asks an agent: process start, and one request with its answer. With a
// number as the argument, prints the mean of this number of round trips between two processes, in nanoseconds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int greet(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int agent = socket(AF_UNIX, SOCK_STREAM, 0);
    // A header, and a body that requests: any vault, no groups, for display.
    const unsigned char hello[22] = {6, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    char answer[4096];
    return connect(agent, (struct sockaddr *)&address, sizeof address) != 0 ||
           write(agent, hello, sizeof hello) != sizeof hello || read(agent, answer, sizeof answer) < 16;
}

static int exchange(int count) {
    int ends[2];
    char message[100] = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    pid_t other = fork();
    if (other == 0) {
        close(ends[0]);
        while (read(ends[1], message, sizeof message) > 0)
            if (write(ends[1], message, sizeof message) < 0) break;
        _exit(0);
    }
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int number = 0; number < count; number++)
        if (write(ends[0], message, sizeof message) < 0 || read(ends[0], message, sizeof message) <= 0) return 1;
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.0f\n", ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / count);
    return 0;
}

int main(int count, char **arguments) {
    return count > 2 ? exchange(atoi(arguments[2])) : count > 1 ? greet(arguments[1]) : 2;
}
