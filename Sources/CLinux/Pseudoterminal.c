// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

// Opens a terminal for the output of a command whose output goes to the terminal `like`: of its size and its modes. The
// command keeps `like` as its controlling terminal and its input, so that the shell's job control goes on.
//
// Each read of the result begins with a byte: 0 before data, else a notice (TIOCPKT). Output is not changed here, since
// `like` does so itself. Returns the master, and the command's side in `slave`; both are closed on execution.
long clinux_open_terminal(int like, int *slave) {
    struct termios modes;
    struct winsize size;
    if (tcgetattr(like, &modes) != 0) return -(long)errno;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0) return -(long)errno;
    int on = 1;
    *slave = unlockpt(master) == 0 ? ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
    if (*slave < 0) goto failed;
    modes.c_oflag &= ~(tcflag_t)OPOST;
    // With EXTPROC, the kernel gives notice when the command changes the modes.
    modes.c_lflag |= EXTPROC;
    if (tcsetattr(*slave, TCSANOW, &modes) != 0 || ioctl(master, TIOCPKT, &on) != 0) goto failed;
    if (ioctl(like, TIOCGWINSZ, &size) == 0) ioctl(master, TIOCSWINSZ, &size);
    return master;
failed:;
    long failure = -(long)errno;
    if (*slave >= 0) close(*slave);
    close(master);
    return failure;
}

// Whether a byte before the data of a terminal's master says that the command has changed the modes.
int clinux_tells_of_modes(unsigned char notice) { return (notice & TIOCPKT_IOCTL) != 0; }

// Gives the terminal `real` the modes of input that the command has set on the terminal of its output: a full-screen
// program turns off the echo there.
void clinux_follow_modes(int master, int real) {
    struct termios wanted, modes;
    if (tcgetattr(master, &wanted) != 0 || tcgetattr(real, &modes) != 0) return;
    modes.c_iflag = wanted.c_iflag;
    modes.c_lflag = wanted.c_lflag & ~(tcflag_t)EXTPROC;
    memcpy(modes.c_cc, wanted.c_cc, sizeof modes.c_cc);
    tcsetattr(real, TCSADRAIN, &modes);
}

// Gives the terminal of the command's output the size of the terminal `real`. Returns 1 if it has changed.
int clinux_follow_size(int master, int real) {
    struct winsize old, new;
    if (ioctl(real, TIOCGWINSZ, &new) != 0 || ioctl(master, TIOCGWINSZ, &old) != 0) return 0;
    if (memcmp(&old, &new, sizeof old) == 0) return 0;
    return ioctl(master, TIOCSWINSZ, &new) == 0;
}

int clinux_is_same_terminal(int one, int other) {
    struct stat first, second;
    return isatty(one) && isatty(other) && fstat(one, &first) == 0 && fstat(other, &second) == 0
           && first.st_rdev == second.st_rdev;
}

// Stops this process as its command was stopped, until both are continued. A stop from the terminal that waits already
// is the same stop.
void clinux_stop_as(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    kill(getpid(), number);
    sigset_t before;
    pthread_sigmask(SIG_UNBLOCK, &set, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
