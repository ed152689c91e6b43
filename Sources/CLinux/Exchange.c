// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <CLinux.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now_in_milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Passes input to a program and reads its output, both only in the caller's memory: Foundation's Process would keep
// copies. The input fits into a socket's buffer, so neither process waits for the other. Returns the number of bytes,
// -EPROTO if the program does not end with 0, -EOVERFLOW if it writes more than fits, -ETIMEDOUT, or the reason why it
// could not be started. Each argument ends with a zero byte, and the list with an empty one.
long clinux_exchange(const char *arguments, const void *input, size_t input_length, void *output, size_t capacity,
                     int seconds) {
    static char *const environment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TSS2_LOG=all+NONE", NULL};
    char *list[16];
    int number = 0;
    for (const char *next = arguments; *next && number < 15; next += strlen(next) + 1) list[number++] = (char *)next;
    list[number] = NULL;
    // A socket, since writing to it raises no signal if the program has ended.
    int in[2], out[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0) return -errno;
    if (pipe2(out, O_CLOEXEC) < 0) {
        int error = errno;
        close(in[0]), close(in[1]);
        return -error;
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    // In its own session it has no terminal on which to ask a person.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    pid_t child;
    int error = posix_spawn(&child, list[0], &actions, &attributes, list, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(in[1]), close(out[1]);
    if (error) {
        close(in[0]), close(out[0]);
        return -error;
    }
    long result = 0;
    if (send(in[0], input, input_length, MSG_NOSIGNAL) != (ssize_t)input_length) result = -EPIPE;
    close(in[0]);
    long end = now_in_milliseconds() + seconds * 1000L;
    while (result >= 0) {
        long left = end - now_in_milliseconds();
        struct pollfd waiting = {.fd = out[0], .events = POLLIN};
        int ready = left > 0 ? poll(&waiting, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            result = ready ? -errno : -ETIMEDOUT;
            break;
        }
        char more;
        ssize_t count = (size_t)result < capacity ? read(out[0], (char *)output + result, capacity - result)
                                                  : read(out[0], &more, 1);
        if (count < 0 && errno == EINTR) continue;
        if (count == 0) break;
        result = count < 0 ? -errno : (size_t)result < capacity ? result + count : -EOVERFLOW;
    }
    close(out[0]);
    int status = 0;
    pid_t ended = 0;
    // A program that has closed its output may still not end.
    struct timespec pause = {.tv_nsec = 1000000};
    for (; result >= 0 && (ended = waitpid(child, &status, WNOHANG)) == 0; nanosleep(&pause, NULL))
        if (now_in_milliseconds() >= end) result = -ETIMEDOUT;
    if (result < 0) kill(child, SIGKILL);
    while (ended != child && (ended = waitpid(child, &status, 0)) != child)
        // If this process ignores SIGCHLD, the kernel collects the child, and only its output can be judged.
        if (errno != EINTR) return result;
    if (result >= 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) return -EPROTO;
    return result;
}
