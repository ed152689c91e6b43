// SPDX-License-Identifier: Apache-2.0
// D-Bus through sd-bus of libsystemd, loaded at run time. Types are the characters of D-Bus signatures. Every returned
// `int` and `long` is 0 or more, or -errno. A connection must be used by one thread at a time.
#ifndef CBUS_H
#define CBUS_H
#include <stddef.h>
#include <stdint.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;

// The size of a buffer for a D-Bus name, including the terminating zero byte.
#define CBUS_NAME_LENGTH 256

// Returns 0, -ENOENT without the library, or -ENOSYS if it lacks a function. The functions that connect call this.
int cbus_load(void);

// Connects to an address, or (null) to the session bus; `cbus_process` completes the connection.
int cbus_open(const char *address, sd_bus **);
void cbus_close(sd_bus *);
// Positive if calls can be made.
int cbus_is_ready(sd_bus *);
// Subscribes to the signals that match a rule; `cbus_process` returns them.
int cbus_match(sd_bus *, const char *rule);
// Processes one step. Positive if there may be more to do; the message is null unless it is for the caller.
int cbus_process(sd_bus *, sd_bus_message **);
// Waits until a step can be processed, or the timeout passes.
int cbus_wait(sd_bus *, uint64_t microseconds);

// For a process that serves: the descriptor, the events of poll(2) to wait for, and the microseconds until the next
// call of `cbus_process` is due without any event.
int cbus_descriptor(sd_bus *);
int cbus_events(sd_bus *);
int64_t cbus_patience(sd_bus *);
int cbus_unique_name(sd_bus *, const char **name);
// -EEXIST if another process owns the name; neither replaces the owner nor queues for the name.
int cbus_request_name(sd_bus *, const char *name);
int cbus_new_answer(sd_bus_message *call, sd_bus_message **);
int cbus_new_error(sd_bus_message *call, sd_bus_message **, const char *name, const char *text);
// Makes a signal to one connection, or (null) a broadcast.
int cbus_new_signal(sd_bus *, sd_bus_message **, const char *destination, const char *path, const char *interface,
                    const char *member);
int cbus_send(sd_bus *, sd_bus_message *);

int cbus_new_call(sd_bus *, sd_bus_message **, const char *destination, const char *path, const char *interface,
                  const char *member);
// Sends a call and waits for the answer. Fails if the answer is an error, whose name is then in `error_name`, which is
// empty otherwise.
int cbus_call(sd_bus *, sd_bus_message *, uint64_t microseconds, sd_bus_message **answer,
              char error_name[CBUS_NAME_LENGTH]);
void cbus_release(sd_bus_message *);
// Marks a message that contains a secret: libsystemd wipes its memory before freeing it.
int cbus_mark_sensitive(sd_bus_message *);

// `value` is the text, or the address of the number.
int cbus_append(sd_bus_message *, char type, const void *value);
int cbus_append_bytes(sd_bus_message *, const void *bytes, size_t count);
// libsystemd reallocates a message that grows, and never wipes the old memory, even of a sensitive message. So a secret
// is filled in last: first `cbus_append_room` reserves its bytes. When the answer is written, `cbus_fill_rooms` seals
// it and rewinds it; it is then read like any message, with `cbus_fill` in place of `cbus_read_bytes` at each
// reserved array.
int cbus_append_room(sd_bus_message *, size_t count);
int cbus_fill_rooms(sd_bus_message *answer);
// -EINVAL if the reserved size differs.
int cbus_fill(sd_bus_message *, const void *bytes, size_t count);
int cbus_open_container(sd_bus_message *, char type, const char *contents);
int cbus_close_container(sd_bus_message *);

// -ENXIO for a value of another type; 0 at the end of an array. Texts and bytes are valid as long as the message.
int cbus_read(sd_bus_message *, char type, void *value);
int cbus_read_bytes(sd_bus_message *, const void **bytes, size_t *count);
int cbus_enter(sd_bus_message *, char type, const char *contents);
int cbus_exit(sd_bus_message *);
// Positive at the end of the entered container.
int cbus_is_at_end(sd_bus_message *);
int cbus_skip(sd_bus_message *, const char *types);

// Null if the message has none.
const char *cbus_path(sd_bus_message *);
// The unique name of the sender, as vouched for by the bus.
const char *cbus_sender(sd_bus_message *);
const char *cbus_interface(sd_bus_message *);
const char *cbus_member(sd_bus_message *);
// The signature of the whole body.
const char *cbus_signature(sd_bus_message *);
int cbus_is_call(sd_bus_message *);
int cbus_expects_answer(sd_bus_message *);
int cbus_is_signal(sd_bus_message *, const char *interface, const char *member);

// logind, on the system bus, for a single caller in the process.

// Returns a descriptor that becomes readable when there are events.
long cbus_logind_open(void);
// The next event: 1 the session was locked, 2 the machine is about to sleep, 3 it has woken up; 0 if there is none.
long cbus_logind_next(void);
// Makes logind delay a sleep until `cbus_logind_let_sleep` is called.
void cbus_logind_delay_sleep(void);
void cbus_logind_let_sleep(void);
#endif
