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
