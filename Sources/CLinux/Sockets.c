// SPDX-License-Identifier: Apache-2.0
// sockaddr_un is a structure of two parts that are filled by hand, and the flags and options of these calls are GNU
// extensions.
#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static long clinux_result(long value) { return value < 0 ? -(long)errno : value; }

static int unix_address(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    size_t length = strlen(path);
    // A first byte of zero would be an abstract name, which any process may take.
    if (length == 0 || length >= sizeof address->sun_path) return -ENAMETOOLONG;
    memcpy(address->sun_path, path, length);
    return 0;
}

// Connects to a socket of the file system; waits at most `seconds` for it to accept, and for each answer.
long clinux_connect_unix(const char *path, long seconds) {
    struct sockaddr_un address;
    int flaw = unix_address(path, &address);
    if (flaw) return flaw;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -(long)errno;
    struct timeval patience = {seconds, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        if (errno == EINTR) continue;
        long failure = -(long)errno;
        close(descriptor);
        return failure;
    }
    return descriptor;
}

// 0 waits for ever.
void clinux_set_patience(int descriptor, long seconds) {
    struct timeval patience = {seconds, 0};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

// Binds a socket with mode 0600 whatever the umask: the mode of an unbound socket becomes that of its file.
long clinux_bind_unix(const char *path) {
    struct sockaddr_un address;
    int flaw = unix_address(path, &address);
    if (flaw) return flaw;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -(long)errno;
    if (fchmod(descriptor, 0600) == 0 && bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0)
        return descriptor;
    long failure = -(long)errno;
    close(descriptor);
    return failure;
}

// Whether a descriptor passed to this process is a listening socket of the file system.
long clinux_is_unix_listener(int descriptor) {
    int listens = 0, domain = 0;
    socklen_t length = sizeof listens;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0) return -(long)errno;
    length = sizeof domain;
    if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0) return -(long)errno;
    if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) return -(long)errno;
    return listens && domain == AF_UNIX;
}

// The address of a socket, or of its peer: up to `capacity` bytes, an abstract one with its zero byte.
long clinux_unix_name(int descriptor, int of_peer, void *name, size_t capacity) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    int result = of_peer ? getpeername(descriptor, (struct sockaddr *)&address, &length)
                         : getsockname(descriptor, (struct sockaddr *)&address, &length);
    if (result != 0) return -(long)errno;
    if (address.sun_family != AF_UNIX || length < offsetof(struct sockaddr_un, sun_path)) return -EAFNOSUPPORT;
    size_t count = length - offsetof(struct sockaddr_un, sun_path);
    if (count > sizeof address.sun_path) count = sizeof address.sun_path;
    // The name of a file ends with a zero byte, or at the end of the structure.
    if (count > 0 && address.sun_path[0] != 0) count = strnlen(address.sun_path, count);
    if (count > capacity) return -ENAMETOOLONG;
    memcpy(name, address.sun_path, count);
    return (long)count;
}

// accept4 is a GNU extension. Sets the send timeout of the descriptor to `seconds`.
long clinux_accept(int descriptor, long seconds) {
    int client = accept4(descriptor, NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) return -(long)errno;
    struct timeval patience = {seconds, 0};
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return client;
}

// struct ucred is a GNU extension.
long clinux_peer(int descriptor, int32_t *process, uint32_t *user) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -(long)errno;
    *process = peer.pid;
    *user = peer.uid;
    return 0;
}

// A descriptor of the very process that connected (Linux 6.5), even if its number has been reused.
long clinux_peer_process(int descriptor) {
    int process = -1;
    socklen_t length = sizeof process;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERPIDFD, &process, &length) == 0 ? process : -(long)errno;
}

// glibc has pidfd_open only since 2.36.
long clinux_process(int32_t number) { return clinux_result(syscall(SYS_pidfd_open, number, 0)); }

// Returns 1 if a process, given by a descriptor, has ended within some milliseconds: the descriptor becomes readable
// then.
long clinux_has_ended(int process, int patience) {
    struct pollfd descriptor = {process, POLLIN, 0};
    return clinux_result(poll(&descriptor, 1, patience));
}

// MSG_NOSIGNAL is an enumeration's constant. Sends all of the bytes; `more` delays them until further bytes follow.
long clinux_send(int descriptor, const void *bytes, size_t count, int more) {
    for (size_t done = 0; done < count;) {
        ssize_t sent = send(descriptor, (const char *)bytes + done, count - done, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) return -(long)errno;
        done += (size_t)sent;
    }
    return 0;
}

// Receives the available bytes, up to `count`.
long clinux_receive_some(int descriptor, void *bytes, size_t count) {
    for (;;) {
        ssize_t received = recv(descriptor, bytes, count, 0);
        if (received < 0 && errno == EINTR) continue;
        return clinux_result(received);
    }
}

// Whether the peer has closed the connection or sent unsolicited data.
long clinux_is_out_of_step(int descriptor) {
    char byte;
    return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}
