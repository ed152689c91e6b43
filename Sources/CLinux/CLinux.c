// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

static long clinux_result(long value) { return value < 0 ? -(long)errno : value; }

// The arguments as the loader passes them to every constructor. Swift's runtime reads /proc, else searches the stack
// below `environ`: without /proc, as in a chroot or a rescue system, or after a preloaded library has called setenv,
// the arguments that it finds are none.
static int argument_count;
static char **argument_values;
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
    argument_count = count;
    argument_values = values;
}
int clinux_argument_count(void) { return argument_values ? argument_count : 0; }
char **clinux_arguments(void) { return argument_values; }
// The file that the kernel executed, by the name that it was given; NULL if the kernel does not tell.
const char *clinux_executed_name(void) { return (const char *)getauxval(AT_EXECFN); }

// prctl is variadic.
long clinux_set_undumpable(void) { return clinux_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); }
// The process gets SIGTERM when the thread that started it ends. Returns 0 if that has already ended, or if another
// process has started this one.
int clinux_end_with(int32_t parent) { return prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0) == 0 && getppid() == parent; }
void clinux_set_name(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
void clinux_allow_all_descriptors(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
// Unmaps the pages of code and constants; the kernel maps each again when it is used. A segment that is writable at the
// start keeps its pages, which have relocations.
static int release_code(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int number = 0; number < info->dlpi_phnum; number++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[number];
        if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
        // Whole pages: the first and the last may be those of a writable neighbour.
        uintptr_t start = (info->dlpi_addr + segment->p_vaddr + page - 1) & ~(page - 1);
        uintptr_t end = (info->dlpi_addr + segment->p_vaddr + segment->p_memsz) & ~(page - 1);
        if (start < end) madvise((void *)start, end - start, MADV_DONTNEED);
    }
    return 0;
}
void clinux_release_code(void) { dl_iterate_phdr(release_code, NULL); }
long clinux_is_dumpable(void) { return clinux_result(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)); }

// RLIMIT_CORE has the type of an anonymous enumeration in glibc, which getrlimit's importer does not accept. Sets only
// the soft limit: a command executed in place of this one gets back the original limit.
static struct rlimit core_limit = {RLIM_INFINITY, RLIM_INFINITY};
long clinux_forbid_core_dumps(void) {
    if (getrlimit(RLIMIT_CORE, &core_limit) != 0) return -(long)errno;
    struct rlimit none = {0, core_limit.rlim_max};
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
// sync_file_range is one, too.
void clinux_begin_writing(int descriptor, int64_t offset, int64_t length) {
    (void)sync_file_range(descriptor, offset, length, SYNC_FILE_RANGE_WRITE);
}

// The madvise advices are macros with casts.
long clinux_exclude_from_dumps(void *base, size_t length) {
    return clinux_result(madvise(base, length, MADV_DONTDUMP));
}
long clinux_exclude_from_forks(void *base, size_t length) {
    return clinux_result(madvise(base, length, MADV_DONTFORK));
}
long clinux_wipe_on_fork(void *base, size_t length) { return clinux_result(madvise(base, length, MADV_WIPEONFORK)); }

// MAP_FAILED is a cast; a null pointer replaces it.
void *clinux_map(size_t length) {
    void *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

// libsodium 1.0.18 leaves Argon2id's output, a hash that is a key and the beginning of a secretbox's plaintext on the
// stack of its functions, which returned before this one begins and used less than it clears. In Swift, no frame has a
// size that the optimizer preserves. Lines of more than 16 bytes would have a larger alignment than the stack, and data
// above the first of them would remain.
__attribute__((noinline)) void clinux_wipe_stack(size_t length) {
    typedef long long line __attribute__((vector_size(16)));
    volatile line below[length / sizeof(line)];
#pragma clang loop unroll_count(16)
    for (size_t index = 0; index < length / sizeof(line); index++) below[index] = (line){0};
    __asm__ __volatile__("" : : "r"(below) : "memory");
}

// glibc has no wrapper for this call. The descriptor is not needed once the memory is mapped.
long clinux_map_secret(void *base, size_t length) {
    int descriptor = (int)syscall(SYS_memfd_secret, O_CLOEXEC);
    if (descriptor < 0) return -(long)errno;
    long result = 0;
    if (ftruncate(descriptor, (off_t)length) != 0 ||
        mmap(base, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, 0) == MAP_FAILED)
        result = -(long)errno;
    close(descriptor);
    return result;
}
long clinux_forbid_access(void *base, size_t length) { return clinux_result(mprotect(base, length, PROT_NONE)); }

// statfs is a function and a structure of the same name.
long clinux_filesystem_type(int descriptor) {
    struct statfs information;
    return fstatfs(descriptor, &information) == 0 ? (long)(uint32_t)information.f_type : -(long)errno;
}

// ioctl is variadic.
int clinux_terminal_width(int descriptor) {
    struct winsize size = {0};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int clinux_terminal_height(int descriptor) {
    struct winsize size = {0};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

// sigset_t and signalfd_siginfo do not import well. Signals that would end or stop the process arrive through a
// descriptor instead, so that a prompt can turn the echo on again before they take effect.
static void terminal_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGQUIT);
    sigaddset(set, SIGTSTP);
}
// Returns the given descriptor, a new one in the place of -1, or -1 with the signals as they were.
int clinux_block_terminal_signals(int descriptor) {
    sigset_t set;
    terminal_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    descriptor = signalfd(descriptor, &set, SFD_CLOEXEC);
    if (descriptor < 0) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return descriptor;
}
void clinux_unblock_terminal_signals(void) {
    sigset_t set;
    terminal_signals(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

// Waits until `input` is readable (0) or a signal arrives (its number); -errno otherwise.
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

static void end_signals(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
}

// Keeps the signals that a server handles pending until they are released: ignored ones would be lost. SIGPIPE is
// ignored from now on, so that a client that does not read cannot end the server.
void clinux_hold_end_signals(void) {
    sigset_t set;
    end_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}
void clinux_release_end_signals(void) {
    sigset_t set;
    end_signals(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

// SIG_IGN is a cast. Exceeding the file-size limit is then an error of the write and does not end the process.
void clinux_ignore_file_size_signal(void) { signal(SIGXFSZ, SIG_IGN); }

// SIG_DFL is a cast. The Swift runtime may have installed a handler that prints a crashed process's registers and
// memory.
void clinux_reset_crash_handlers(void) {
    static const int signals[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) signal(signals[index], SIG_DFL);
}

// A process may be started with its standard streams closed. The next file that it opens would take the place of one,
// and a message would be written into it. The descriptors that fill the gap refuse to be used, as a closed one does.
void clinux_reserve_standard_streams(void) {
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
        // The lowest free number is this one, since the lower ones are taken.
        if (open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) != descriptor) _exit(30);
    }
}

// Returns the number of a pending blocked terminal signal, or 0.
int clinux_pending_terminal_signal(int signals) {
    struct pollfd waiting = {signals, POLLIN, 0};
    struct signalfd_siginfo information;
    if (poll(&waiting, 1, 0) <= 0 || read(signals, &information, sizeof information) != sizeof information) return 0;
    return (int)information.ssi_signo;
}

// memfd_create and its seals are GNU extensions. The file can be read through its descriptor, which a command inherits,
// and cannot be changed.
long clinux_sealed_file(const char *name, const void *bytes, size_t count) {
    int file = memfd_create(name, MFD_ALLOW_SEALING);
    if (file < 0) return -(long)errno;
    for (size_t done = 0; done < count;) {
        ssize_t written = write(file, (const char *)bytes + done, count - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            long error = -(long)errno;
            close(file);
            return error;
        }
        done += (size_t)written;
    }
    // Programs such as ssh-keygen require a key that is readable only by its owner.
    fchmod(file, 0600);
    lseek(file, 0, SEEK_SET);
    fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    return file;
}

// A global variable that any code may change; this program does not.
char **clinux_environment(void) { return environ; }

// execvpe is a GNU extension. Returns only when it fails.
long clinux_execute(char *const arguments[], char *const environment[]) {
    setrlimit(RLIMIT_CORE, &core_limit);
    signal(SIGXFSZ, SIG_DFL);
    execvpe(arguments[0], arguments, environment);
    long error = -(long)errno;
    struct rlimit none = {0, core_limit.rlim_max};
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGXFSZ, SIG_IGN);
    return error;
}

// pipe2 is a GNU extension.
long clinux_pipe(int ends[2]) { return clinux_result(pipe2(ends, O_CLOEXEC)); }

// The signals that are passed on to a command, and the signal that reports its end.
static void command_signals(sigset_t *set) {
    // SIGTSTP: this process stops once the command has, and its last output is shown. SIGTTOU: whether in the
    // background or not, this process writes and sets the modes of the terminal for the command.
    static const int signals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1, SIGUSR2,
                                  SIGWINCH, SIGCONT, SIGALRM, SIGCHLD, SIGTSTP, SIGTTOU};
    sigemptyset(set);
    for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) sigaddset(set, signals[index]);
}

// posix_spawn's attributes do not import well. Starts a command with its output in two pipes; returns its process ID,
// and in `signals` a descriptor for clinux_next_command_signal().
long clinux_spawn(char *const arguments[], char *const environment[], int output, int error, int *signals) {
    sigset_t blocked, before, defaults;
    // If SIGCHLD were ignored, the exit status of a child would be lost.
    signal(SIGCHLD, SIG_DFL);
    command_signals(&blocked);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    *signals = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (*signals < 0) {
        long failure = -(long)errno;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return failure;
    }
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &before);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
    pid_t child = 0;
    // A child inherits the limits of its parent.
    setrlimit(RLIMIT_CORE, &core_limit);
    int failure = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments, environment);
    struct rlimit none = {0, core_limit.rlim_max};
    setrlimit(RLIMIT_CORE, &none);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure != 0 ? -(long)failure : child;
}

// Starts a program with the given standard streams, -1 for /dev/null, and an environment, null for this process's; if
// `detached`, in a session of its own, which outlives this process's terminal.
long clinux_spawn_helper(char *const arguments[], char *const environment[], int input, int output, int error,
                         int detached) {
    signal(SIGCHLD, SIG_DFL);
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    // The child does not inherit this process's blocked and ignored signals.
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (detached ? POSIX_SPAWN_SETSID : 0));
    posix_spawn_file_actions_init(&actions);
    int streams[3] = {input, output, error};
    for (int stream = 0; stream < 3; stream++) {
        if (streams[stream] >= 0) posix_spawn_file_actions_adddup2(&actions, streams[stream], stream);
        else posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", stream == 0 ? O_RDONLY : O_WRONLY, 0);
    }
    // The child inherits none of this process's other descriptors.
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    pid_t child = 0;
    int failure = posix_spawnp(
        &child, arguments[0], &actions, &attributes, arguments, environment ? environment : environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure != 0 ? -(long)failure : child;
}

// Returns the next pending signal, or 0. A signal from the terminal has already reached the command and must not be
// passed on: `passed` is then 0.
int clinux_next_command_signal(int signals, int *passed) {
    struct signalfd_siginfo information;
    if (read(signals, &information, sizeof information) != sizeof information) return 0;
    *passed = information.ssi_code != SI_KERNEL;
    return (int)information.ssi_signo;
}

void clinux_unblock_command_signals(void) {
    sigset_t set;
    command_signals(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

// ioctl is variadic. Returns the number of bytes in a pipe.
long clinux_readable(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) == 0 ? count : 0;
}

// A descriptor that was read to its end is closed, so that no other code uses it; 0 becomes /dev/null.
void clinux_forget_descriptor(int descriptor) {
    if (descriptor > STDERR_FILENO) {
        close(descriptor);
        return;
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0) return;
    dup2(null, descriptor);
    close(null);
}

// Ends in the same way as the command: with its exit status, or by its signal.
_Noreturn void clinux_end_as(int status) {
    if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, number);
        signal(number, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        kill(getpid(), number);
        _exit(128 + number);
    }
    _exit(WEXITSTATUS(status));
}

// Watches the changes of the files in a directory; struct inotify_event ends with an array of no length.
long clinux_watch_directory(const char *path) {
    int descriptor = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (descriptor < 0) return -(long)errno;
    uint32_t events = IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
    if (inotify_add_watch(descriptor, path, events | IN_ONLYDIR) >= 0) return descriptor;
    long error = -(long)errno;
    close(descriptor);
    return error;
}
void clinux_discard_input(int descriptor) {
    char events[4096];
    while (read(descriptor, events, sizeof events) > 0) continue;
}
