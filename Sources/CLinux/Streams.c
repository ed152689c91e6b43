// SPDX-License-Identifier: Apache-2.0
// pipe2, inotify and O_NONBLOCK by fcntl, which is variadic.
#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

static long clinux_result(long value) { return value < 0 ? -(long)errno : value; }

// Makes reads and writes of this end return at once. The other end of a pipe has its own flags, but processes that
// inherited this end share them. Returns the previous flags, for `clinux_set_flags`, or -errno.
long clinux_set_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) flags = -1;
    return clinux_result(flags);
}

void clinux_set_flags(int descriptor, long flags) { fcntl(descriptor, F_SETFL, (int)flags); }

// Writes as much as fits in a pipe. If its reader has closed it, that is an error and does not end the process.
long clinux_write_some(int descriptor, const void *bytes, size_t count) {
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    long result = clinux_result(write(descriptor, bytes, count));
    struct timespec none = {0, 0};
    if (result == -EPIPE) sigtimedwait(&pipe_signal, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

// Writes all bytes, waiting for room.
long clinux_write_pipe(int descriptor, const void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        long written = clinux_write_some(descriptor, (const char *)bytes + done, count - done);
        if (written == -EINTR) continue;
        if (written <= 0) return written;
        done += (size_t)written;
    }
    return 0;
}

_Static_assert(CLINUX_FOLDER_GONE == (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED), "inotify's events");
_Static_assert(CLINUX_FOLDER_OVERFLOW == IN_Q_OVERFLOW, "inotify's events");

long clinux_folder_watches(void) { return clinux_result(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)); }

// Adds a folder to a set of watches, for files that any process puts into it.
long clinux_watch_folder(int watches, const char *path) {
    uint32_t events = IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF;
    return clinux_result(inotify_add_watch(watches, path, events | IN_ONLYDIR));
}
