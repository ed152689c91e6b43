// SPDX-License-Identifier: Apache-2.0
// Loads libsystemd with dlopen(3) on first use: few commands need it, linking it would cost each command more than a
// millisecond, and some systems lack it.
#define _GNU_SOURCE
#include "Library.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

struct cbus_library cbus_library;
static int state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *handle = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        state = -ENOENT;
        return;
    }
    struct cbus_library *lib = &cbus_library;
    const struct {
        void **function;
        const char *name;
    } names[] = {
        {(void **)&lib->new, "sd_bus_new"},
        {(void **)&lib->set_address, "sd_bus_set_address"},
        {(void **)&lib->set_client, "sd_bus_set_bus_client"},
        {(void **)&lib->start, "sd_bus_start"},
        {(void **)&lib->open_user, "sd_bus_open_user"},
        {(void **)&lib->open_system, "sd_bus_open_system"},
        {(void **)&lib->close_unref, "sd_bus_close_unref"},
        {(void **)&lib->is_ready, "sd_bus_is_ready"},
        {(void **)&lib->get_fd, "sd_bus_get_fd"},
        {(void **)&lib->get_events, "sd_bus_get_events"},
        {(void **)&lib->get_timeout, "sd_bus_get_timeout"},
        {(void **)&lib->get_unique_name, "sd_bus_get_unique_name"},
        {(void **)&lib->request_name, "sd_bus_request_name"},
        {(void **)&lib->process, "sd_bus_process"},
        {(void **)&lib->wait, "sd_bus_wait"},
        {(void **)&lib->match, "sd_bus_add_match"},
        {(void **)&lib->call, "sd_bus_call"},
        {(void **)&lib->call_method, "sd_bus_call_method"},
        {(void **)&lib->get_property, "sd_bus_get_property"},
        {(void **)&lib->new_call, "sd_bus_message_new_method_call"},
        {(void **)&lib->new_answer, "sd_bus_message_new_method_return"},
        {(void **)&lib->new_error, "sd_bus_message_new_method_error"},
        {(void **)&lib->new_signal, "sd_bus_message_new_signal"},
        {(void **)&lib->set_destination, "sd_bus_message_set_destination"},
        {(void **)&lib->send, "sd_bus_send"},
        {(void **)&lib->unref, "sd_bus_message_unref"},
        {(void **)&lib->sensitive, "sd_bus_message_sensitive"},
        {(void **)&lib->append_basic, "sd_bus_message_append_basic"},
        {(void **)&lib->append_array, "sd_bus_message_append_array"},
        {(void **)&lib->append_space, "sd_bus_message_append_array_space"},
        {(void **)&lib->seal, "sd_bus_message_seal"},
        {(void **)&lib->rewind, "sd_bus_message_rewind"},
        {(void **)&lib->open_container, "sd_bus_message_open_container"},
        {(void **)&lib->close_container, "sd_bus_message_close_container"},
        {(void **)&lib->read, "sd_bus_message_read"},
        {(void **)&lib->read_basic, "sd_bus_message_read_basic"},
        {(void **)&lib->read_array, "sd_bus_message_read_array"},
        {(void **)&lib->enter_container, "sd_bus_message_enter_container"},
        {(void **)&lib->exit_container, "sd_bus_message_exit_container"},
        {(void **)&lib->at_end, "sd_bus_message_at_end"},
        {(void **)&lib->skip, "sd_bus_message_skip"},
        {(void **)&lib->path, "sd_bus_message_get_path"},
        {(void **)&lib->sender, "sd_bus_message_get_sender"},
        {(void **)&lib->interface, "sd_bus_message_get_interface"},
        {(void **)&lib->member, "sd_bus_message_get_member"},
        {(void **)&lib->signature, "sd_bus_message_get_signature"},
        {(void **)&lib->type, "sd_bus_message_get_type"},
        {(void **)&lib->expects_answer, "sd_bus_message_get_expect_reply"},
        {(void **)&lib->is_signal, "sd_bus_message_is_signal"},
        {(void **)&lib->error_free, "sd_bus_error_free"},
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (!(*names[index].function = dlsym(handle, names[index].name))) state = -ENOSYS;
}

int cbus_load(void) {
    pthread_once(&once, load);
    return state;
}
