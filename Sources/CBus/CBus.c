// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "Library.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

int cbus_descriptor(sd_bus *bus) { return lib.get_fd(bus); }
int cbus_events(sd_bus *bus) { return lib.get_events(bus); }

int64_t cbus_patience(sd_bus *bus) {
    uint64_t end = 0;
    int flaw = lib.get_timeout(bus, &end);
    if (flaw < 0) return flaw;
    if (end == UINT64_MAX) return INT64_MAX;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t passed = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    return end <= passed ? 0 : (int64_t)(end - passed);
}

int cbus_unique_name(sd_bus *bus, const char **name) { return lib.get_unique_name(bus, name); }
int cbus_request_name(sd_bus *bus, const char *name) { return lib.request_name(bus, name, 0); }
int cbus_new_answer(sd_bus_message *call, sd_bus_message **answer) { return lib.new_answer(call, answer); }

int cbus_new_error(sd_bus_message *call, sd_bus_message **answer, const char *name, const char *text) {
    sd_bus_error error = {name, text, 0};
    return lib.new_error(call, answer, &error);
}

int cbus_new_signal(sd_bus *bus, sd_bus_message **signal, const char *destination, const char *path,
                    const char *interface, const char *member) {
    int flaw = lib.new_signal(bus, signal, path, interface, member);
    return flaw < 0 || !destination ? flaw : lib.set_destination(*signal, destination);
}

int cbus_send(sd_bus *bus, sd_bus_message *message) {
    // Without a pointer for the serial number, libsystemd marks the call as expecting no answer.
    uint64_t number = 0;
    return lib.send(bus, message, &number);
}

void cbus_release(sd_bus_message *message) { lib.unref(message); }
int cbus_mark_sensitive(sd_bus_message *message) { return lib.sensitive(message); }
int cbus_append(sd_bus_message *message, char type, const void *value) {
    return lib.append_basic(message, type, value);
}
int cbus_append_bytes(sd_bus_message *message, const void *bytes, size_t count) {
    return lib.append_array(message, 'y', bytes, count);
}

int cbus_append_room(sd_bus_message *message, size_t count) {
    void *room = NULL;
    int flaw = lib.append_space(message, 'y', count, &room);
    if (flaw >= 0 && count > 0) memset(room, 0, count);
    return flaw;
}

int cbus_fill_rooms(sd_bus_message *message) {
    // The serial number must not be 0; no message refers to that of an answer.
    int flaw = lib.seal(message, 1, 0);
    return flaw < 0 ? flaw : lib.rewind(message, 1);
}

int cbus_fill(sd_bus_message *message, const void *bytes, size_t count) {
    const void *room = NULL;
    size_t size = 0;
    int flaw = lib.read_array(message, 'y', &room, &size);
    if (flaw < 0) return flaw;
    if (size != count) return -EINVAL;
    // libsystemd returns a const pointer, but the memory belongs to the message and is writable.
    if (count > 0) memcpy((void *)room, bytes, count);
    return 0;
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
const char *cbus_interface(sd_bus_message *message) { return lib.interface(message); }
const char *cbus_member(sd_bus_message *message) { return lib.member(message); }
const char *cbus_signature(sd_bus_message *message) { return lib.signature(message, 1); }
int cbus_expects_answer(sd_bus_message *message) { return lib.expects_answer(message); }

int cbus_is_call(sd_bus_message *message) {
    uint8_t type = 0;
    return lib.type(message, &type) >= 0 && type == 1;
}

int cbus_is_signal(sd_bus_message *message, const char *interface, const char *member) {
    return lib.is_signal(message, interface, member);
}
