// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static long clinux_result(long value) { return value < 0 ? -(long)errno : value; }

// prctl is variadic.
long clinux_set_undumpable(void) { return clinux_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); }
long clinux_is_dumpable(void) { return clinux_result(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)); }

// RLIMIT_CORE has the type of an anonymous enumeration in glibc, which getrlimit's importer does not accept.
long clinux_forbid_core_dumps(void) {
    struct rlimit none = {0, 0};
    return clinux_result(setrlimit(RLIMIT_CORE, &none));
}
uint64_t clinux_file_size_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}
uint64_t clinux_locked_memory_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
}

// open, openat and fcntl are variadic; O_TMPFILE and the open-file-description locks are GNU extensions.
long clinux_openat(int directory, const char *name, int flags, unsigned mode) {
    return clinux_result(openat(directory, name, flags, mode));
}
long clinux_lock(int descriptor, int kind) {
    struct flock lock = {0};
    lock.l_type = kind == CLINUX_LOCK_NONE ? F_UNLCK : kind == CLINUX_LOCK_EXCLUSIVE ? F_WRLCK : F_RDLCK;
    lock.l_whence = SEEK_SET;
    return clinux_result(fcntl(descriptor, F_OFD_SETLK, &lock));
}

// renameat2 and fallocate's modes are GNU extensions.
long clinux_rename_no_replace(int directory, const char *from, const char *to) {
    return clinux_result(renameat2(directory, from, directory, to, RENAME_NOREPLACE));
}
long clinux_reserve(int descriptor, int64_t offset, int64_t length) {
    return clinux_result(fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, length));
}

// The madvise advices are macros with casts.
long clinux_exclude_from_dumps(void *base, size_t length) { return clinux_result(madvise(base, length, MADV_DONTDUMP)); }
long clinux_exclude_from_forks(void *base, size_t length) { return clinux_result(madvise(base, length, MADV_DONTFORK)); }
long clinux_wipe_on_fork(void *base, size_t length) { return clinux_result(madvise(base, length, MADV_WIPEONFORK)); }

// MAP_FAILED is a cast; a null pointer says the same.
void *clinux_map(size_t length) {
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}
long clinux_forbid_access(void *base, size_t length) { return clinux_result(mprotect(base, length, PROT_NONE)); }

// statfs is a function and a structure of the same name.
long clinux_filesystem_type(int descriptor) {
    struct statfs information;
    return fstatfs(descriptor, &information) == 0 ? (long)(uint32_t)information.f_type : -(long)errno;
}

// sigset_t and signalfd_siginfo do not import well. Signals that would end or stop the process come through a descriptor instead, so that a
// prompt can turn the echo on again before they take effect.
static void terminal_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGQUIT);
    sigaddset(set, SIGTSTP);
}
int clinux_block_terminal_signals(void) {
    sigset_t set;
    terminal_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}
void clinux_unblock_terminal_signals(void) {
    sigset_t set;
    terminal_signals(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

// Waits until `input` has something to read (0) or a signal came (its number); -errno otherwise.
int clinux_wait_for_input(int input, int signals) {
    for (;;) {
        struct pollfd descriptors[2] = {{input, POLLIN, 0}, {signals, POLLIN, 0}};
        if (poll(descriptors, 2, -1) < 0) {
            if (errno == EINTR) continue;
            return -errno;
        }
        struct signalfd_siginfo information;
        if (descriptors[1].revents && read(signals, &information, sizeof information) == sizeof information)
            return (int)information.ssi_signo;
        if (descriptors[0].revents) return 0;
    }
}

// SIG_IGN is a cast. A file-size limit then is an error of the write instead of the end of the process.
void clinux_ignore_file_size_signal(void) { signal(SIGXFSZ, SIG_IGN); }

// SIG_DFL is a cast. The Swift runtime may have installed a handler that shows a crashed process's registers and memory to whoever asks.
void clinux_reset_crash_handlers(void) {
    static const int signals[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) signal(signals[index], SIG_DFL);
}

// A process may be started with its standard streams closed. The next file it opens would take the place of one, and a message would be written
// into it. What fills the gap refuses to be used, as a closed descriptor does.
void clinux_reserve_standard_streams(void) {
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
        // The lowest free number is this one, since those below it are taken.
        if (open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor) _exit(30);
    }
}

// Returns the number of a blocked terminal signal that is waiting, or 0.
int clinux_pending_terminal_signal(int signals) {
    struct pollfd waiting = {signals, POLLIN, 0};
    struct signalfd_siginfo information;
    if (poll(&waiting, 1, 0) <= 0 || read(signals, &information, sizeof information) != sizeof information) return 0;
    return (int)information.ssi_signo;
}
