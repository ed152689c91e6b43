// SPDX-License-Identifier: Apache-2.0
// In C, since these calls of sd-bus are variadic.
#define _GNU_SOURCE
#include "Library.h"
#include <errno.h>
#include <unistd.h>

#define lib cbus_library
#define LOGIND "org.freedesktop.login1"
#define MANAGER "/org/freedesktop/login1", LOGIND ".Manager"
#define SIGNAL(interface, member) \
    "type='signal',sender='" LOGIND "',interface='" LOGIND interface "',member='" member "'"

static sd_bus *bus;
static int delay = -1;
// The last event: 1 the session was locked, 2 the machine is about to sleep, 3 the machine has woken up.
static int event;

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
    // Ignores another user's session; a session whose user is unknown may be ours.
    const char *path = lib.path(message);
    int known = lib.get_property(bus, LOGIND, path, LOGIND ".Session", "User", &error, &answer, "(uo)") >= 0 &&
                lib.read(answer, "(uo)", &user, NULL) >= 0;
    if (!known || user == geteuid()) event = 1;
    lib.error_free(&error);
    lib.unref(answer);
    return 0;
}

long cbus_logind_open(void) {
    if (bus) return -EBUSY;
    int flaw = cbus_load();
    if (flaw < 0) return flaw;
    if (lib.open_system(&bus) < 0) {
        bus = NULL;
        return -ECONNREFUSED;
    }
    // Accepts signals only from the owner of logind's name: any process on the bus can send signals that look like
    // logind's.
    if (lib.match(bus, NULL, SIGNAL(".Manager", "PrepareForSleep"), sleeping, NULL) < 0 ||
        lib.match(bus, NULL, SIGNAL(".Session", "Lock"), locked, NULL) < 0) {
        bus = lib.close_unref(bus);
        return -EPROTO;
    }
    cbus_logind_delay_sleep();
    return lib.get_fd(bus);
}

long cbus_logind_next(void) {
    event = 0;
    for (;;) {
        int progress = lib.process(bus, NULL);
        if (progress < 0) return progress;
        if (event) return event;
        if (progress == 0) return 0;
    }
}

// The delay ends when the descriptor returned by logind is closed.
void cbus_logind_delay_sleep(void) {
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

void cbus_logind_let_sleep(void) {
    if (delay >= 0) close(delay);
    delay = -1;
}
