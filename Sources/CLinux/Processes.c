// SPDX-License-Identifier: Apache-2.0
// O_PATH and statx are GNU extensions.
#define _GNU_SOURCE
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static long clinux_result(long value) { return value < 0 ? -(long)errno : value; }

// Opens the root directory of a process. O_PATH sends no request to its file system, which may be one that a process
// serves (FUSE) and answers at will.
long clinux_root(int32_t process) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/root", process);
    return clinux_result(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// 1 if a directory is also the root of the calling process and has no entry of this name; 0 if it is another one or has
// such an entry. Neither check sends a request to another process's file system.
long clinux_is_own_root_without(int directory, const char *name) {
    struct statx other, own;
    int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT;
    if (statx(directory, "", flags | AT_EMPTY_PATH, STATX_INO, &other) != 0) return -(long)errno;
    if (statx(AT_FDCWD, "/", flags, STATX_INO, &own) != 0) return -(long)errno;
    if (other.stx_ino != own.stx_ino || other.stx_dev_major != own.stx_dev_major ||
        other.stx_dev_minor != own.stx_dev_minor)
        return 0;
    int found = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (found < 0) return errno == ENOENT ? 1 : -(long)errno;
    close(found);
    return 0;
}

// Reads a regular file of a directory from its beginning, up to `capacity` bytes. Returns -EINVAL for other files; does
// not follow a link or wait for a pipe or a device. A file system served by a process may still delay the call.
long clinux_read_file(int directory, const char *name, void *bytes, size_t capacity) {
    int file = openat(directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return -(long)errno;
    struct stat status;
    long result = clinux_result(fstat(file, &status));
    if (result == 0 && !S_ISREG(status.st_mode)) result = -EINVAL;
    for (size_t done = 0; result == 0 && done < capacity;) {
        ssize_t count = read(file, (char *)bytes + done, capacity - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) result = -(long)errno;
        if (count <= 0) {
            capacity = done;
            break;
        }
        done += (size_t)count;
    }
    close(file);
    return result < 0 ? result : (long)capacity;
}
