// SPDX-License-Identifier: Apache-2.0
// The used functions of libpq, as declared in libpq-fe.h of PostgreSQL 14.
#define _GNU_SOURCE
#include "CPostgres.h"
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

extern char **environ;

typedef struct {
    char *channel;
    int process;
    char *text;
} notification;

static struct {
    cpostgres *(*start)(const char *const *, const char *const *, int);
    int (*poll)(cpostgres *);
    void (*finish)(cpostgres *);
    int (*status)(const cpostgres *);
    int (*socket)(const cpostgres *);
    int (*ssl_in_use)(cpostgres *);
    char *(*error)(const cpostgres *);
    int (*set_verbosity)(cpostgres *, int);
    void *(*set_notice_receiver)(cpostgres *, void (*)(void *, const cpostgres_result *), void *);
    int (*set_nonblocking)(cpostgres *, int);
    int (*enter_pipeline)(cpostgres *);
    int (*pipeline_sync)(cpostgres *);
    int (*send)(cpostgres *, const char *, int, const uint32_t *, const char *const *, const int *, const int *, int);
    int (*send_prepared)(cpostgres *, const char *, int, const char *const *, const int *, const int *, int);
    int (*flush)(cpostgres *);
    int (*consume)(cpostgres *);
    int (*is_busy)(cpostgres *);
    int (*single_row)(cpostgres *);
    cpostgres_result *(*result)(cpostgres *);
    notification *(*notifies)(cpostgres *);
    void (*free_memory)(void *);
    int (*result_status)(const cpostgres_result *);
    char *(*error_field)(const cpostgres_result *, int);
    int (*rows)(const cpostgres_result *);
    int (*columns)(const cpostgres_result *);
    uint32_t (*type)(const cpostgres_result *, int);
    int (*format)(const cpostgres_result *, int);
    int (*is_null)(const cpostgres_result *, int, int);
    int (*length)(const cpostgres_result *, int, int);
    char *(*value)(const cpostgres_result *, int, int);
    void (*clear)(cpostgres_result *);
} lib;
static int state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// For libpq a keyword with an empty value has none, and a keyword without a value comes from the environment: another
// address for the host's name, a service file, a trace file.
static void forget_variables(void) {
    for (char **variable = environ; variable && *variable;) {
        char name[64];
        const char *end = strchr(*variable, '=');
        size_t length = end ? (size_t)(end - *variable) : 0;
        if (strncmp(*variable, "PG", 2) != 0 || length == 0 || length >= sizeof name) {
            variable++;
            continue;
        }
        memcpy(name, *variable, length);
        name[length] = 0;
        unsetenv(name);
    }
}

static void load(void) {
    void *handle = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        state = -ENOENT;
        return;
    }
    const struct {
        void **function;
        const char *name;
    } names[] = {
        {(void **)&lib.start, "PQconnectStartParams"},
        {(void **)&lib.poll, "PQconnectPoll"},
        {(void **)&lib.finish, "PQfinish"},
        {(void **)&lib.status, "PQstatus"},
        {(void **)&lib.socket, "PQsocket"},
        {(void **)&lib.ssl_in_use, "PQsslInUse"},
        {(void **)&lib.error, "PQerrorMessage"},
        {(void **)&lib.set_verbosity, "PQsetErrorVerbosity"},
        {(void **)&lib.set_notice_receiver, "PQsetNoticeReceiver"},
        {(void **)&lib.set_nonblocking, "PQsetnonblocking"},
        {(void **)&lib.enter_pipeline, "PQenterPipelineMode"},
        {(void **)&lib.pipeline_sync, "PQpipelineSync"},
        {(void **)&lib.send, "PQsendQueryParams"},
        {(void **)&lib.send_prepared, "PQsendQueryPrepared"},
        {(void **)&lib.flush, "PQflush"},
        {(void **)&lib.consume, "PQconsumeInput"},
        {(void **)&lib.is_busy, "PQisBusy"},
        {(void **)&lib.single_row, "PQsetSingleRowMode"},
        {(void **)&lib.result, "PQgetResult"},
        {(void **)&lib.notifies, "PQnotifies"},
        {(void **)&lib.free_memory, "PQfreemem"},
        {(void **)&lib.result_status, "PQresultStatus"},
        {(void **)&lib.error_field, "PQresultErrorField"},
        {(void **)&lib.rows, "PQntuples"},
        {(void **)&lib.columns, "PQnfields"},
        {(void **)&lib.type, "PQftype"},
        {(void **)&lib.format, "PQfformat"},
        {(void **)&lib.is_null, "PQgetisnull"},
        {(void **)&lib.length, "PQgetlength"},
        {(void **)&lib.value, "PQgetvalue"},
        {(void **)&lib.clear, "PQclear"},
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (!(*names[index].function = dlsym(handle, names[index].name))) state = -ENOSYS;
    if (state == 0) forget_variables();
}

int cpostgres_load(void) {
    pthread_once(&once, load);
    return state;
}

// MARK: Connecting

// libpq's own receiver would print the server's notices on standard error.
static void ignore(void *context, const cpostgres_result *notice) { (void)context, (void)notice; }

cpostgres *cpostgres_start(const char *const *keywords, const char *const *values) {
    cpostgres *connection = lib.start(keywords, values, 0);
    if (!connection) return NULL;
    lib.set_notice_receiver(connection, ignore, NULL);
    // PQERRORS_SQLSTATE
    lib.set_verbosity(connection, 3);
    return connection;
}

void cpostgres_close(cpostgres *connection) { lib.finish(connection); }

int cpostgres_step(cpostgres *connection) {
    // CONNECTION_BAD: the attempt could not even start.
    if (lib.status(connection) == 1) return CPOSTGRES_FAILED;
    // PGRES_POLLING_…
    switch (lib.poll(connection)) {
    case 1: return CPOSTGRES_WANTS_INPUT;
    case 2: return CPOSTGRES_WANTS_OUTPUT;
    case 3: return CPOSTGRES_CONNECTED;
    default: return CPOSTGRES_FAILED;
    }
}

int cpostgres_begin(cpostgres *connection) {
    return lib.set_nonblocking(connection, 1) == 0 && lib.enter_pipeline(connection);
}

// CONNECTION_OK
int cpostgres_is_open(const cpostgres *connection) { return lib.status(connection) == 0; }

int cpostgres_is_encrypted(cpostgres *connection) { return lib.ssl_in_use(connection); }

const char *cpostgres_error(const cpostgres *connection) {
    const char *error = lib.error(connection);
    return error ? error : "";
}

int cpostgres_wait(const cpostgres *connection, int events, int other, int milliseconds) {
    short wanted = events & CPOSTGRES_WANTS_INPUT ? POLLIN : 0;
    if (events & CPOSTGRES_WANTS_OUTPUT) wanted |= POLLOUT;
    // poll(2) ignores a negative descriptor.
    struct pollfd waiting[] = {{lib.socket(connection), wanted, 0}, {other, POLLIN, 0}};
    if (waiting[0].fd < 0) return -EBADF;
    int ready = poll(waiting, 2, milliseconds);
    if (ready < 0) return errno == EINTR ? 0 : -errno;
    int result = 0;
    if (waiting[0].revents & ~POLLOUT) result |= CPOSTGRES_WANTS_INPUT;
    if (waiting[0].revents & POLLOUT) result |= CPOSTGRES_WANTS_OUTPUT;
    if (waiting[1].revents) result |= CPOSTGRES_OTHER;
    return result;
}

int cpostgres_socket(const cpostgres *connection) { return lib.socket(connection); }

int cpostgres_waiting(const cpostgres *connection) {
    int count = 0;
    return ioctl(lib.socket(connection), FIONREAD, &count) == 0 && count > 0 ? count : 0;
}

int cpostgres_bell(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void cpostgres_ring(int bell) { eventfd_write(bell, 1); }

void cpostgres_close_bell(int bell) { close(bell); }

// MARK: Statements

#define MOST_PARAMETERS 16
static const int binary[MOST_PARAMETERS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

int cpostgres_send(cpostgres *connection, const char *statement, int count, const uint32_t *types,
                   const char *const *values, const int *lengths) {
    if (count > MOST_PARAMETERS) return 0;
    return lib.send(connection, statement, count, types, values, lengths, binary, 1);
}

int cpostgres_send_prepared(cpostgres *connection, const char *name, int count, const char *const *values,
                            const int *lengths) {
    if (count > MOST_PARAMETERS) return 0;
    return lib.send_prepared(connection, name, count, values, lengths, binary, 1);
}

int cpostgres_end(cpostgres *connection) { return lib.pipeline_sync(connection); }

int cpostgres_flush(cpostgres *connection) { return lib.flush(connection); }

int cpostgres_take(cpostgres *connection) { return lib.consume(connection); }

int cpostgres_is_busy(cpostgres *connection) { return lib.is_busy(connection); }

void cpostgres_by_rows(cpostgres *connection) { lib.single_row(connection); }

cpostgres_result *cpostgres_next(cpostgres *connection) { return lib.result(connection); }

int cpostgres_notification(cpostgres *connection, char *text, size_t capacity) {
    notification *found = lib.notifies(connection);
    if (!found) return 0;
    size_t length = found->text ? strnlen(found->text, capacity - 1) : 0;
    if (length > 0) memcpy(text, found->text, length);
    text[length] = 0;
    lib.free_memory(found);
    return 1;
}

// MARK: Results

int cpostgres_kind(const cpostgres_result *result) {
    // PGRES_…
    switch (lib.result_status(result)) {
    case 1: return CPOSTGRES_DONE;
    case 2: return CPOSTGRES_ROWS;
    case 9: return CPOSTGRES_ROW;
    case 10: return CPOSTGRES_ENDED;
    case 11: return CPOSTGRES_SKIPPED;
    case 7: return CPOSTGRES_REFUSED;
    default: return CPOSTGRES_STRANGE;
    }
}

static const char *field(const cpostgres_result *result, int code) {
    const char *text = lib.error_field(result, code);
    return text ? text : "";
}

const char *cpostgres_state(const cpostgres_result *result) { return field(result, 'C'); }
const char *cpostgres_message(const cpostgres_result *result) { return field(result, 'M'); }

int cpostgres_row_count(const cpostgres_result *result) { return lib.rows(result); }
int cpostgres_column_count(const cpostgres_result *result) { return lib.columns(result); }
uint32_t cpostgres_type(const cpostgres_result *result, int column) { return lib.type(result, column); }
int cpostgres_is_binary(const cpostgres_result *result, int column) { return lib.format(result, column) == 1; }
int cpostgres_is_null(const cpostgres_result *result, int row, int column) { return lib.is_null(result, row, column); }
int cpostgres_length(const cpostgres_result *result, int row, int column) { return lib.length(result, row, column); }
const char *cpostgres_value(const cpostgres_result *result, int row, int column) {
    return lib.value(result, row, column);
}

void cpostgres_release(cpostgres_result *result) { lib.clear(result); }
