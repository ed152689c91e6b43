// SPDX-License-Identifier: Apache-2.0
// A program that logs a user in and creates difficult conditions for a module, as real login programs do: it has
// children and handlers of its own, ignored and blocked signals, an inherited descriptor, and no standard input and
// output.
//   login USER TOKEN
#define _GNU_SOURCE
#include <fcntl.h>
#include <security/pam_appl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static void handle(int number) {
    (void)number;
    handled++;
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
}

static int converse(int count, const struct pam_message **messages, struct pam_response **responses, void *token) {
    *responses = calloc((size_t)count, sizeof **responses);
    for (int index = 0; index < count; index++)
        if (messages[index]->msg_style == PAM_PROMPT_ECHO_OFF) (*responses)[index].resp = strdup(token);
    return PAM_SUCCESS;
}

// Counts the mappings that are locked, excluded from core dumps and wiped in forked children.
static int kept(void) {
    int found = 0;
    char line[4096];
    FILE *mappings = fopen("/proc/self/smaps", "re");
    while (mappings && fgets(line, sizeof line, mappings))
        found += strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " lo ") && strstr(line, " dd ") &&
                 strstr(line, " wf ");
    if (mappings) fclose(mappings);
    return found;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    struct pam_conv conversation = {converse, argv[2]};
    pam_handle_t *pam = NULL;
    if (pam_start("login", argv[1], &conversation, &pam) != PAM_SUCCESS) return 1;
    if (pam_authenticate(pam, 0) != PAM_SUCCESS) return 1;
    fprintf(stderr, "kept after authentication: %d\n", kept());
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usual, NULL);
    signal(SIGTERM, SIG_IGN);
    signal(SIGCHLD, handle);
    if (open("/etc/passwd", O_RDONLY) < 0) return 1;
    close(0);
    close(1);
    if (pam_open_session(pam, 0) != PAM_SUCCESS) return 1;
    fprintf(stderr, "kept after the session has begun: %d\n", kept());
    fprintf(stderr, "children of the module that the program hears of: %d\n", (int)handled);
    fprintf(stderr, "children that are left: %d\n", waitpid(-1, NULL, WNOHANG | __WALL) >= 0);
    // The state kept by a second login in the same program is wiped at the program's end at the latest.
    if (pam_authenticate(pam, 0) != PAM_SUCCESS) return 1;
    fprintf(stderr, "kept again: %d\n", kept());
    pam_end(pam, PAM_SUCCESS);
    fprintf(stderr, "kept at the end: %d\n", kept());
    return 0;
}
