// SPDX-License-Identifier: Apache-2.0
// The calls of sd-bus are variadic. libsystemd is loaded by name when the agent starts: nothing else of the product
// needs it, its loading would cost every command more than a millisecond, and there are systems without it.
#define _GNU_SOURCE
#include "CLinux.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define LOGIND "org.freedesktop.login1"
#define MANAGER "/org/freedesktop/login1", LOGIND ".Manager"
#define SIGNAL(interface, member) \
    "type='signal',sender='" LOGIND "',interface='" LOGIND interface "',member='" member "'"

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct {
    const char *name;
    const char *message;
    int needs_free;
} sd_bus_error;
typedef int handler(sd_bus_message *, void *, sd_bus_error *);

static struct {
    int (*open_system)(sd_bus **);
    sd_bus *(*close_unref)(sd_bus *);
    int (*get_fd)(sd_bus *);
    int (*process)(sd_bus *, sd_bus_message **);
    int (*match)(sd_bus *, void **, const char *, handler *, void *);
    int (*call_method)(sd_bus *, const char *destination, const char *path, const char *interface, const char *member,
                       sd_bus_error *, sd_bus_message **, const char *types, ...);
    int (*get_property)(sd_bus *, const char *destination, const char *path, const char *interface, const char *member,
                        sd_bus_error *, sd_bus_message **, const char *type);
    int (*read)(sd_bus_message *, const char *, ...);
    const char *(*path)(sd_bus_message *);
    sd_bus_message *(*unref)(sd_bus_message *);
    void (*error_free)(sd_bus_error *);
} lib;

static sd_bus *bus;
static int delay = -1;
// What came last: 1 the session was locked, 2 the machine is about to sleep, 3 it is awake again.
static int event;

static int load(void) {
    void *handle = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return -ENOENT;
    const struct {
        void **function;
        const char *name;
    } names[] = {
        {(void **)&lib.open_system, "sd_bus_open_system"},   {(void **)&lib.close_unref, "sd_bus_flush_close_unref"},
        {(void **)&lib.get_fd, "sd_bus_get_fd"},             {(void **)&lib.process, "sd_bus_process"},
        {(void **)&lib.match, "sd_bus_add_match"},           {(void **)&lib.call_method, "sd_bus_call_method"},
        {(void **)&lib.get_property, "sd_bus_get_property"}, {(void **)&lib.read, "sd_bus_message_read"},
        {(void **)&lib.path, "sd_bus_message_get_path"},     {(void **)&lib.unref, "sd_bus_message_unref"},
        {(void **)&lib.error_free, "sd_bus_error_free"},
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (!(*names[index].function = dlsym(handle, names[index].name))) return -ENOSYS;
    return 0;
}

static int sleeping(sd_bus_message *message, void *unused, sd_bus_error *error) {
    (void)unused, (void)error;
    int begins = 0;
    if (lib.read(message, "b", &begins) >= 0) event = begins ? 2 : 3;
    return 0;
}

static int locked(sd_bus_message *message, void *unused, sd_bus_error *unused_error) {
    (void)unused, (void)unused_error;
    sd_bus_error error = {0};
    sd_bus_message *answer = NULL;
    uint32_t user = 0;
    // Another user's session is none of ours; one of which that cannot be said may be.
    const char *path = lib.path(message);
    int known = lib.get_property(bus, LOGIND, path, LOGIND ".Session", "User", &error, &answer, "(uo)") >= 0 &&
                lib.read(answer, "(uo)", &user, NULL) >= 0;
    if (!known || user == geteuid()) event = 1;
    lib.error_free(&error);
    lib.unref(answer);
    return 0;
}

long clinux_logind_open(void) {
    if (bus) return -EBUSY;
    int flaw = load();
    if (flaw < 0) return flaw;
    if (lib.open_system(&bus) < 0) {
        bus = NULL;
        return -ECONNREFUSED;
    }
    // Signals of the process that has logind's name, and of no other: any process on the bus can send what looks like
    // them.
    if (lib.match(bus, NULL, SIGNAL(".Manager", "PrepareForSleep"), sleeping, NULL) < 0 ||
        lib.match(bus, NULL, SIGNAL(".Session", "Lock"), locked, NULL) < 0) {
        bus = lib.close_unref(bus);
        return -EPROTO;
    }
    clinux_logind_delay_sleep();
    return lib.get_fd(bus);
}

// The next event, 0 when there is none, or -errno.
long clinux_logind_next(void) {
    event = 0;
    for (;;) {
        int progress = lib.process(bus, NULL);
        if (progress < 0) return progress;
        if (event) return event;
        if (progress == 0) return 0;
    }
}

// Asks logind to wait before a sleep until the descriptor that it gives is closed.
void clinux_logind_delay_sleep(void) {
    if (delay >= 0) return;
    sd_bus_error error = {0};
    sd_bus_message *answer = NULL;
    int descriptor = -1;
    int asked = lib.call_method(bus, LOGIND, MANAGER, "Inhibit", &error, &answer, "ssss", "sleep", "vault",
                                "the keys are wiped first", "delay");
    if (asked >= 0 && lib.read(answer, "h", &descriptor) >= 0) delay = dup(descriptor);
    lib.error_free(&error);
    lib.unref(answer);
}

void clinux_logind_let_sleep(void) {
    if (delay >= 0) close(delay);
    delay = -1;
}
