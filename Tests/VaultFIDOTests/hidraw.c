// SPDX-License-Identifier: Apache-2.0
// The kernel's devices of security keys, for a program that this library is loaded into first: udev lists /dev/hidraw0
// and so on, and each of them leads to a socket of $SECURITY_KEYS. libfido2 and the program stay as they are.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST = 8, SIZE_OF_DESCRIPTOR = 0x80044801 };

static const unsigned int descriptor_request = 0x90044802;
static char paths[MOST][16];
static int descriptors[MOST] = {-1, -1, -1, -1, -1, -1, -1, -1};

// The usage page of FIDO, with reports of 64 bytes in and out.
static const unsigned char descriptor[] = {
    0x06, 0xd0, 0xf1, 0x09, 0x01, 0xa1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95,
    0x40, 0x81, 0x02, 0x09, 0x21, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xc0,
};

static const char *socket_at(int wanted, size_t *length) {
    const char *next = getenv("SECURITY_KEYS");
    for (int index = 0; next && *next; index++) {
        *length = strcspn(next, ":");
        if (index == wanted) return next;
        next += *length + (next[*length] == ':');
    }
    return NULL;
}

static int is_key(int fd) {
    for (int index = 0; index < MOST; index++)
        if (fd >= 0 && descriptors[index] == fd) return 1;
    return 0;
}

int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    size_t length;
    const char *name = strncmp(path, "/dev/hidraw", 11) ? NULL : socket_at(atoi(path + 11), &length);
    if (!name) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, name, length < sizeof address.sun_path ? length : sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) {
        if (fd >= 0) close(fd);
        return -1;
    }
    for (int index = 0; index < MOST; index++) {
        if (descriptors[index] >= 0) continue;
        descriptors[index] = fd;
        break;
    }
    return fd;
}

int close(int fd) {
    for (int index = 0; index < MOST; index++)
        if (fd >= 0 && descriptors[index] == fd) descriptors[index] = -1;
    return (int)syscall(SYS_close, fd);
}

int fstat(int fd, struct stat *status) {
    int (*next)(int, struct stat *) = dlsym(RTLD_NEXT, "fstat");
    int result = next(fd, status);
    if (is_key(fd)) status->st_mode = S_IFCHR | 0600;
    return result;
}

int ioctl(int fd, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (!is_key(fd)) return (int)syscall(SYS_ioctl, fd, request, argument);
    if ((unsigned)request == SIZE_OF_DESCRIPTOR) *(int *)argument = sizeof descriptor;
    // A length of 4 bytes, then the descriptor.
    if ((unsigned)request == descriptor_request) memcpy((char *)argument + 4, descriptor, sizeof descriptor);
    return 0;
}

// udev's objects are numbers from 1: of a device, and of a place in the list of them.
#define OBJECT(number) ((void *)(long)(number))

void *udev_new(void) { return OBJECT(1); }
void *udev_unref(void *udev) { return (void)udev, NULL; }
void *udev_enumerate_new(void *udev) { return udev; }
void *udev_enumerate_unref(void *list) { return (void)list, NULL; }
int udev_enumerate_add_match_subsystem(void *list, const char *name) { return (void)list, (void)name, 0; }
int udev_enumerate_scan_devices(void *list) { return (void)list, 0; }

static void *entry(long number) {
    size_t length;
    return number <= MOST && socket_at((int)number - 1, &length) ? OBJECT(number) : NULL;
}

void *udev_enumerate_get_list_entry(void *list) { return (void)list, entry(1); }
void *udev_list_entry_get_next(void *place) { return entry((long)place + 1); }

const char *udev_list_entry_get_name(void *place) {
    char *path = paths[(long)place - 1];
    strcpy(path, "/dev/hidraw0");
    path[11] = (char)('0' + (long)place - 1);
    return path;
}

void *udev_device_new_from_syspath(void *udev, const char *path) { return (void)udev, OBJECT(path[11] - '0' + 1); }
void *udev_device_unref(void *device) { return (void)device, NULL; }
const char *udev_device_get_devnode(void *device) { return paths[(long)device - 1]; }
const char *udev_device_get_sysnum(void *device) { return udev_device_get_devnode(device) + 11; }

void *udev_device_get_parent_with_subsystem_devtype(void *device, const char *system, const char *type) {
    return (void)system, (void)type, device;
}

const char *udev_device_get_sysattr_value(void *device, const char *name) {
    (void)device;
    if (!strcmp(name, "uevent")) return "HID_ID=0003:0000F1D0:00000001\nHID_NAME=Soft Key\n";
    return strcmp(name, "manufacturer") ? "Key" : "Soft";
}
