// SPDX-License-Identifier: Apache-2.0
// Opens the vault of a user who logs in, and changes the vault's passphrase along with the login password, if the two
// are the same. Stores no passphrase, always returns PAM_IGNORE, and never delays a login.
//
//   auth      optional  pam_vault.so    keeps the typed password until the session is open
//   session   optional  pam_vault.so    after pam_systemd, which makes the directory of the agent's socket
//   password  optional  pam_vault.so    after the module that changes the login's password
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <security/pam_ext.h>
#include <security/pam_modules.h>
#include <security/pam_modutil.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#ifndef VAULT_COMMAND
#define VAULT_COMMAND "/usr/bin/vault"
#endif
enum { longest = 1024, most_groups = 1024, patience_milliseconds = 5000 };
static const char data_name[] = "vault-token";
struct token { uid_t user; size_t length; char bytes[longest]; };
struct job {
    const struct passwd *user;
    char *const *arguments, *environment[4];
    int inputs[2], count, first;  // Read ends of pipes, which become the descriptors from `first` on.
    int as_root, group_count;
    gid_t groups[most_groups];
};

static void forget(pam_handle_t *pam, void *token, int status) {
    explicit_bzero(token, sizeof(struct token));
    munmap(token, sizeof(struct token));
}

static void keep(pam_handle_t *pam, const struct passwd *user, const char *typed) {
    // A separate mapping: mlock and munmap affect no other memory of the program.
    struct token *token = mmap(NULL, sizeof *token, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (token == MAP_FAILED) return;
    // A kernel or a limit may refuse each of these. Children forked by the program find zeros here.
    mlock(token, sizeof *token);
    madvise(token, sizeof *token, MADV_DONTDUMP);
    madvise(token, sizeof *token, MADV_WIPEONFORK);
    token->user = user->pw_uid;
    token->length = strlen(typed);
    memcpy(token->bytes, typed, token->length);
    if (pam_set_data(pam, data_name, token, forget) != PAM_SUCCESS) forget(pam, token, 0);
}

// Returns the typed password, if it is possible as a vault's passphrase.
static const char *typed(const pam_handle_t *pam, int item) {
    const void *text = NULL;
    if (pam_get_item(pam, item, &text) != PAM_SUCCESS || !text) return NULL;
    size_t length = strnlen(text, longest + 1);
    return length > 0 && length <= longest ? text : NULL;
}

// Returns the account for which this process may run a program. Never prompts for a name: other modules do that.
static const struct passwd *account(pam_handle_t *pam) {
    const void *name = NULL;
    if (pam_get_item(pam, PAM_USER, &name) != PAM_SUCCESS || !name) return NULL;
    const struct passwd *user = pam_modutil_getpwnam(pam, name);
    if (!user || !user->pw_dir || user->pw_dir[0] != '/') return NULL;
    // A screen locker runs as the user. A server with an account of its own would run the command as that account.
    return geteuid() == 0 || (geteuid() == user->pw_uid && getuid() == user->pw_uid) ? user : NULL;
}

// Returns the read end of a pipe that holds the text. A pipe has room for a page, so that the write does not block, and
// this process holds the read end, so that there is no SIGPIPE.
static int piped(const char *text, size_t length) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    int is_whole = write(ends[1], text, length) == (ssize_t)length;
    close(ends[1]);
    if (!is_whole) close(ends[0]);
    return is_whole ? ends[0] : -1;
}

// Makes a child hidden from the program: its exit sends no SIGCHLD, and only a wait with __WCLONE finds it, so that no
// handler of the program reaps or counts it. No handler of pthread_atfork runs, which could wait for a thread.
static pid_t split(void) { return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, 0); }

// Runs in the child, which has one thread and inherits locks held by all others: makes system calls only. libc's own
// setuid would wait for the other threads to follow.
__attribute__((noreturn)) static void become(const struct job *job) {
    uid_t uid = job->user->pw_uid, gid = job->as_root ? job->user->pw_gid : getgid();
    if (setsid() < 0 || chdir("/") != 0) _exit(1);
    if (job->as_root && syscall(SYS_setgroups, (size_t)job->group_count, job->groups) != 0) _exit(1);
    if (syscall(SYS_setresgid, gid, gid, gid) != 0 || syscall(SYS_setresuid, uid, uid, uid) != 0) _exit(1);
    // Copies above the target numbers, which the pipes may occupy if the program has no standard descriptors.
    int copies[2], null = fcntl(open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, 8);
    for (int index = 0; index < job->count; index++)
        if ((copies[index] = fcntl(job->inputs[index], F_DUPFD_CLOEXEC, 8)) < 0) _exit(1);
    for (int standard = 0; standard < 3; standard++)
        if (dup2(null, standard) < 0) _exit(1);
    for (int index = 0; index < job->count; index++)
        if (dup2(copies[index], job->first + index) < 0) _exit(1);
    if (close_range(job->first == 0 ? 3 : (unsigned)(job->first + job->count), ~0U, 0) != 0) _exit(1);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(VAULT_COMMAND, job->arguments, job->environment);
    _exit(1);
}

// Runs in the first child, which the program reaps; init adopts the second one.
__attribute__((noreturn)) static void supervise(const struct job *job, int waits) {
    for (int number = 1; number <= SIGRTMAX; number++) signal(number, SIG_DFL);
    pid_t child = split();
    if (child == 0) become(job);
    if (child < 0 || !waits) _exit(child < 0);
    // Signals are blocked, so that poll is not interrupted. If `pidfd_open` fails, poll waits for the whole timeout.
    int status = 0;
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    poll(&end, 1, patience_milliseconds);
    if (waitpid(child, &status, __WALL | WNOHANG) == child) _exit(status != 0);
    kill(-child, SIGKILL), kill(child, SIGKILL);
    _exit(1);
}

// Runs the command as the user. Returns 1 if the command succeeded or, without `waits`, if it was started.
static int run(pam_handle_t *pam, struct job *job, int waits) {
    char home[PATH_MAX], runtime[PATH_MAX], path[] = "PATH=/usr/bin:/bin";
    const struct passwd *user = job->user;
    // PAM's variables may be set by the user, so only the user's own command gets them, never root's.
    const char *directory = user->pw_uid != 0 ? pam_getenv(pam, "XDG_RUNTIME_DIR") : NULL;
    int length = directory ? snprintf(runtime, sizeof runtime, "XDG_RUNTIME_DIR=%s", directory)
                           : snprintf(runtime, sizeof runtime, "XDG_RUNTIME_DIR=/run/user/%u", (unsigned)user->pw_uid);
    int fits = length < PATH_MAX && snprintf(home, sizeof home, "HOME=%s", user->pw_dir) < PATH_MAX;
    for (int index = 0; index < job->count; index++) fits &= job->inputs[index] >= 0;
    memcpy(job->environment, (char *[]){home, runtime, path, NULL}, sizeof job->environment);
    job->as_root = geteuid() == 0, job->group_count = most_groups;
    // Excess groups are dropped: a vault belongs to its user alone.
    if (job->as_root) getgrouplist(user->pw_name, user->pw_gid, job->groups, &job->group_count);
    if (job->group_count > most_groups) job->group_count = most_groups;
    sigset_t all, before;
    sigfillset(&all);
    // Blocked until the child has reset the handlers: it must not run those of the program.
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = fits ? split() : -1;
    if (child == 0) supervise(job, waits);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int index = 0; index < job->count; index++)
        if (job->inputs[index] >= 0) close(job->inputs[index]);
    int status = -1;
    while (child > 0 && waitpid(child, &status, __WCLONE) < 0 && errno == EINTR) {}
    if (status != 0) pam_syslog(pam, LOG_NOTICE, "%s %s did not succeed", VAULT_COMMAND, job->arguments[1]);
    return status == 0;
}

int pam_sm_authenticate(pam_handle_t *pam, int flags, int argc, const char **argv) {
    // Discards the data of an earlier attempt, perhaps as another user.
    pam_set_data(pam, data_name, NULL, NULL);
    const struct passwd *user = account(pam);
    const char *token = typed(pam, PAM_AUTHTOK);
    if (user && token) keep(pam, user, token);
    return PAM_IGNORE;
}

int pam_sm_open_session(pam_handle_t *pam, int flags, int argc, const char **argv) {
    const void *data = NULL;
    if (pam_get_data(pam, data_name, &data) != PAM_SUCCESS || !data) return PAM_IGNORE;
    const struct token *token = data;
    char *const arguments[] = {"vault", "unlock", "--from-login", "--passphrase-fd", "0", NULL};
    struct job job = {.user = account(pam), .arguments = arguments, .count = 1, .first = 0};
    // A module may have replaced the user who typed the password by another one.
    if (job.user && job.user->pw_uid == token->user && token->length > 0) {
        job.inputs[0] = piped(token->bytes, token->length);
        run(pam, &job, 0);
    }
    pam_set_data(pam, data_name, NULL, NULL);
    return PAM_IGNORE;
}

int pam_sm_setcred(pam_handle_t *pam, int flags, int argc, const char **argv) { return PAM_IGNORE; }
int pam_sm_close_session(pam_handle_t *pam, int flags, int argc, const char **argv) { return PAM_IGNORE; }

int pam_sm_chauthtok(pam_handle_t *pam, int flags, int argc, const char **argv) {
    const char *old = typed(pam, PAM_OLDAUTHTOK), *new = typed(pam, PAM_AUTHTOK);
    char *const arguments[] = {"vault", "passwd", "--passphrase-fd", "3", "--new-passphrase-fd", "4", NULL};
    struct job job = {.user = account(pam), .arguments = arguments, .count = 2, .first = 3};
    // Root resets a password without the old one.
    if (!(flags & PAM_UPDATE_AUTHTOK) || !old || !new || !job.user) return PAM_IGNORE;
    job.inputs[0] = piped(old, strlen(old));
    job.inputs[1] = piped(new, strlen(new));
    const void *data = NULL;
    // At a login with an expired password, the session opens the vault with the new password.
    if (run(pam, &job, 1) && pam_get_data(pam, data_name, &data) == PAM_SUCCESS && data) keep(pam, job.user, new);
    return PAM_IGNORE;
}
