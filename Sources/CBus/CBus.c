// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "Library.h"
#include <stdio.h>

#define lib cbus_library

int cbus_open(const char *address, sd_bus **bus) {
    int flaw = cbus_load();
    if (flaw < 0) return flaw;
    if (!address) return lib.open_user(bus);
    sd_bus *new = NULL;
    flaw = lib.new(&new);
    if (flaw >= 0) flaw = lib.set_address(new, address);
    if (flaw >= 0) flaw = lib.set_client(new, 1);
    if (flaw >= 0) flaw = lib.start(new);
    if (flaw < 0) lib.close_unref(new);
    else *bus = new;
    return flaw;
}

void cbus_close(sd_bus *bus) { lib.close_unref(bus); }
int cbus_is_ready(sd_bus *bus) { return lib.is_ready(bus); }
int cbus_match(sd_bus *bus, const char *rule) { return lib.match(bus, NULL, rule, NULL, NULL); }
int cbus_process(sd_bus *bus, sd_bus_message **message) { return lib.process(bus, message); }
int cbus_wait(sd_bus *bus, uint64_t microseconds) { return lib.wait(bus, microseconds); }

int cbus_call(sd_bus *bus, sd_bus_message *message, uint64_t microseconds, sd_bus_message **answer, char *error_name) {
    sd_bus_error error = {0};
    int result = lib.call(bus, message, microseconds, &error, answer);
    snprintf(error_name, CBUS_NAME_LENGTH, "%s", error.name ? error.name : "");
    lib.error_free(&error);
    return result;
}

int cbus_new_call(sd_bus *bus, sd_bus_message **message, const char *destination, const char *path,
                  const char *interface, const char *member) {
    return lib.new_call(bus, message, destination, path, interface, member);
}

void cbus_release(sd_bus_message *message) { lib.unref(message); }
int cbus_mark_sensitive(sd_bus_message *message) { return lib.sensitive(message); }
int cbus_append(sd_bus_message *message, char type, const void *value) {
    return lib.append_basic(message, type, value);
}
int cbus_append_bytes(sd_bus_message *message, const void *bytes, size_t count) {
    return lib.append_array(message, 'y', bytes, count);
}
int cbus_open_container(sd_bus_message *message, char type, const char *contents) {
    return lib.open_container(message, type, contents);
}
int cbus_close_container(sd_bus_message *message) { return lib.close_container(message); }
int cbus_read(sd_bus_message *message, char type, void *value) { return lib.read_basic(message, type, value); }
int cbus_read_bytes(sd_bus_message *message, const void **bytes, size_t *count) {
    return lib.read_array(message, 'y', bytes, count);
}
int cbus_enter(sd_bus_message *message, char type, const char *contents) {
    return lib.enter_container(message, type, contents);
}
int cbus_exit(sd_bus_message *message) { return lib.exit_container(message); }
int cbus_is_at_end(sd_bus_message *message) { return lib.at_end(message, 0); }
int cbus_skip(sd_bus_message *message, const char *types) { return lib.skip(message, types); }
const char *cbus_path(sd_bus_message *message) { return lib.path(message); }
const char *cbus_sender(sd_bus_message *message) { return lib.sender(message); }
int cbus_is_signal(sd_bus_message *message, const char *interface, const char *member) {
    return lib.is_signal(message, interface, member);
}
