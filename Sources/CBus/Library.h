// SPDX-License-Identifier: Apache-2.0
// The functions of libsystemd in use, and the types in their declarations.
#ifndef CBUS_LIBRARY_H
#define CBUS_LIBRARY_H
#include "CBus.h"

typedef struct {
    const char *name;
    const char *message;
    int needs_free;
} sd_bus_error;
typedef int handler(sd_bus_message *, void *, sd_bus_error *);

extern struct cbus_library {
    int (*new)(sd_bus **);
    int (*set_address)(sd_bus *, const char *);
    int (*set_client)(sd_bus *, int);
    int (*start)(sd_bus *);
    int (*open_user)(sd_bus **);
    int (*open_system)(sd_bus **);
    sd_bus *(*close_unref)(sd_bus *);
    int (*is_ready)(sd_bus *);
    int (*get_fd)(sd_bus *);
    int (*get_events)(sd_bus *);
    int (*get_timeout)(sd_bus *, uint64_t *);
    int (*get_unique_name)(sd_bus *, const char **);
    int (*request_name)(sd_bus *, const char *, uint64_t flags);
    int (*process)(sd_bus *, sd_bus_message **);
    int (*wait)(sd_bus *, uint64_t microseconds);
    int (*match)(sd_bus *, void **, const char *, handler *, void *);
    int (*call)(sd_bus *, sd_bus_message *, uint64_t microseconds, sd_bus_error *, sd_bus_message **);
    int (*call_method)(sd_bus *, const char *destination, const char *path, const char *interface, const char *member,
                       sd_bus_error *, sd_bus_message **, const char *types, ...);
    int (*get_property)(sd_bus *, const char *destination, const char *path, const char *interface, const char *member,
                        sd_bus_error *, sd_bus_message **, const char *type);
    int (*new_call)(sd_bus *, sd_bus_message **, const char *destination, const char *path, const char *interface,
                    const char *member);
    int (*new_answer)(sd_bus_message *, sd_bus_message **);
    int (*new_error)(sd_bus_message *, sd_bus_message **, const sd_bus_error *);
    int (*new_signal)(sd_bus *, sd_bus_message **, const char *path, const char *interface, const char *member);
    int (*set_destination)(sd_bus_message *, const char *);
    int (*send)(sd_bus *, sd_bus_message *, uint64_t *cookie);
    sd_bus_message *(*unref)(sd_bus_message *);
    int (*sensitive)(sd_bus_message *);
    int (*append_basic)(sd_bus_message *, char type, const void *);
    int (*append_array)(sd_bus_message *, char type, const void *, size_t);
    int (*append_space)(sd_bus_message *, char type, size_t, void **);
    int (*seal)(sd_bus_message *, uint64_t cookie, uint64_t microseconds);
    int (*rewind)(sd_bus_message *, int complete);
    int (*open_container)(sd_bus_message *, char type, const char *contents);
    int (*close_container)(sd_bus_message *);
    int (*read)(sd_bus_message *, const char *, ...);
    int (*read_basic)(sd_bus_message *, char type, void *);
    int (*read_array)(sd_bus_message *, char type, const void **, size_t *);
    int (*enter_container)(sd_bus_message *, char type, const char *contents);
    int (*exit_container)(sd_bus_message *);
    int (*at_end)(sd_bus_message *, int complete);
    int (*skip)(sd_bus_message *, const char *types);
    const char *(*path)(sd_bus_message *);
    const char *(*sender)(sd_bus_message *);
    const char *(*interface)(sd_bus_message *);
    const char *(*member)(sd_bus_message *);
    const char *(*signature)(sd_bus_message *, int complete);
    int (*type)(sd_bus_message *, uint8_t *);
    int (*expects_answer)(sd_bus_message *);
    int (*is_signal)(sd_bus_message *, const char *interface, const char *member);
    void (*error_free)(sd_bus_error *);
} cbus_library;
#endif
