// SPDX-License-Identifier: Apache-2.0
// D-Bus by sd-bus of libsystemd, which is loaded by name. Types are the characters of D-Bus' signatures. Every `int`
// and `long` is 0 or more, or -errno. A connection belongs to one thread at a time.
#ifndef CBUS_H
#define CBUS_H
#include <stddef.h>
#include <stdint.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;

// A name of D-Bus', with the zero byte at its end.
#define CBUS_NAME_LENGTH 256

// 0, -ENOENT without the library, or -ENOSYS without one of its functions. What connects calls it.
int cbus_load(void);

// Connects to an address, or (null) to the bus of the session; `cbus_process` does the rest until it is ready.
int cbus_open(const char *address, sd_bus **);
void cbus_close(sd_bus *);
// More than 0: calls can be made.
int cbus_is_ready(sd_bus *);
// Asks for the signals that a rule describes; `cbus_process` gives them.
int cbus_match(sd_bus *, const char *rule);
// One step. More than 0: there may be more to do; the message is null unless it is one that the caller asked for.
int cbus_process(sd_bus *, sd_bus_message **);
// Waits until there is something to process.
int cbus_wait(sd_bus *, uint64_t microseconds);

// For a process that serves: its descriptor, for which events of poll(2) it waits, and after how many microseconds
// there is something to do in any case.
int cbus_descriptor(sd_bus *);
int cbus_events(sd_bus *);
int64_t cbus_patience(sd_bus *);
int cbus_unique_name(sd_bus *, const char **name);
// -EEXIST: another process has the name, which neither gives it up nor is waited for.
int cbus_request_name(sd_bus *, const char *name);
int cbus_new_answer(sd_bus_message *call, sd_bus_message **);
int cbus_new_error(sd_bus_message *call, sd_bus_message **, const char *name, const char *text);
// For one connection, or (null) for all that listen.
int cbus_new_signal(sd_bus *, sd_bus_message **, const char *destination, const char *path, const char *interface,
                    const char *member);
int cbus_send(sd_bus *, sd_bus_message *);

int cbus_new_call(sd_bus *, sd_bus_message **, const char *destination, const char *path, const char *interface,
                  const char *member);
// Sends a call and waits for the answer. An answer that is an error is one here, and the name has its name, which is
// empty otherwise.
int cbus_call(sd_bus *, sd_bus_message *, uint64_t microseconds, sd_bus_message **answer,
              char error_name[CBUS_NAME_LENGTH]);
void cbus_release(sd_bus_message *);
// The message has a secret: libsystemd wipes its memory before it gives it back.
int cbus_mark_sensitive(sd_bus_message *);

// `value` is the text, or the address of the number.
int cbus_append(sd_bus_message *, char type, const void *value);
int cbus_append_bytes(sd_bus_message *, const void *bytes, size_t count);
// A message that grows is moved, and libsystemd does not wipe where it was, whether it has a secret or not. So a secret
// is put in when nothing is moved any more: first room is appended for its bytes. When all is written,
// `cbus_fill_rooms` ends the writing of an answer and goes back to its beginning; it is read then as any message, with
// `cbus_fill` in the place of `cbus_read_bytes` where there is room.
int cbus_append_room(sd_bus_message *, size_t count);
int cbus_fill_rooms(sd_bus_message *answer);
// -EINVAL: the room is for another number of bytes.
int cbus_fill(sd_bus_message *, const void *bytes, size_t count);
int cbus_open_container(sd_bus_message *, char type, const char *contents);
int cbus_close_container(sd_bus_message *);

// -ENXIO for what is of another type; 0 at the end of an array. Texts and bytes live as long as the message.
int cbus_read(sd_bus_message *, char type, void *value);
int cbus_read_bytes(sd_bus_message *, const void **bytes, size_t *count);
int cbus_enter(sd_bus_message *, char type, const char *contents);
int cbus_exit(sd_bus_message *);
// More than 0: the container that was entered has no more.
int cbus_is_at_end(sd_bus_message *);
int cbus_skip(sd_bus_message *, const char *types);

// Null: it has none.
const char *cbus_path(sd_bus_message *);
// The unique name of who sent it, as the bus says.
const char *cbus_sender(sd_bus_message *);
const char *cbus_interface(sd_bus_message *);
const char *cbus_member(sd_bus_message *);
// Of the whole body.
const char *cbus_signature(sd_bus_message *);
int cbus_is_call(sd_bus_message *);
int cbus_expects_answer(sd_bus_message *);
int cbus_is_signal(sd_bus_message *, const char *interface, const char *member);

// logind, on the system's bus, for one caller in the process.

// A descriptor that is readable when there is something to take up.
long cbus_logind_open(void);
// What came: 1 the session was locked, 2 the machine is about to sleep, 3 it is awake again; 0: no more.
long cbus_logind_next(void);
// Asks logind to wait before a sleep until it is let.
void cbus_logind_delay_sleep(void);
void cbus_logind_let_sleep(void);
#endif
