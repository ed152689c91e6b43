// SPDX-License-Identifier: Apache-2.0
// PostgreSQL by libpq, which is loaded by name. A connection belongs to one thread at a time. Only `cpostgres_wait`
// blocks: a host's name is passed with its address (`hostaddr`), since libpq would look the name up otherwise.
#ifndef CPOSTGRES_H
#define CPOSTGRES_H
#include <stddef.h>
#include <stdint.h>

typedef struct pg_conn cpostgres;
typedef struct pg_result cpostgres_result;

// Returns 0, -ENOENT without the library, or -ENOSYS without one of its functions: PostgreSQL 14 has all of them.
int cpostgres_load(void);

// Starts a connection. Keywords and values are libpq's, each list with a null at its end. Returns null without memory.
cpostgres *cpostgres_start(const char *const *keywords, const char *const *values);
void cpostgres_close(cpostgres *);
#define CPOSTGRES_FAILED 0
#define CPOSTGRES_WANTS_INPUT 1
#define CPOSTGRES_WANTS_OUTPUT 2
#define CPOSTGRES_CONNECTED 3
// Performs one step of connecting.
int cpostgres_step(cpostgres *);
// Switches an established connection to pipeline mode. Returns 0 on failure.
int cpostgres_begin(cpostgres *);
int cpostgres_is_open(const cpostgres *);
int cpostgres_is_encrypted(cpostgres *);
// Returns libpq's text about the connection's last failure, which has only the code of a server's error.
const char *cpostgres_error(const cpostgres *);

#define CPOSTGRES_OTHER 4
// Returns the connection's descriptor; below 0 without one.
int cpostgres_socket(const cpostgres *);
// Waits for the requested events of CPOSTGRES_WANTS_INPUT and CPOSTGRES_WANTS_OUTPUT, and for input on another
// descriptor (or -1). Returns the events, with CPOSTGRES_OTHER for the other descriptor; 0 after the timeout; or
// -errno.
int cpostgres_wait(const cpostgres *, int events, int other, int milliseconds);
// Returns the number of bytes, at least, that have arrived and were not read.
int cpostgres_waiting(const cpostgres *);
// Returns a descriptor that becomes readable when it is rung; below 0 on failure.
int cpostgres_bell(void);
void cpostgres_ring(int bell);
void cpostgres_close_bell(int bell);

// Queues a statement with binary parameters and binary rows. Returns 0 on failure.
int cpostgres_send(cpostgres *, const char *statement, int count, const uint32_t *types, const char *const *values,
                   const int *lengths);
// Does the work of cpostgres_send for a statement that PREPARE has named, whose parameters have the types it expects.
int cpostgres_send_prepared(cpostgres *, const char *name, int count, const char *const *values, const int *lengths);
// Queues the end of a transaction. Returns 0 on failure.
int cpostgres_end(cpostgres *);
// Returns 0 if everything was sent, 1 if not yet, -1 on failure.
int cpostgres_flush(cpostgres *);
// Reads the available input. Returns 0 on failure.
int cpostgres_take(cpostgres *);
// Returns whether the next result is still incomplete.
int cpostgres_is_busy(cpostgres *);
// Requests the rows of the next statement's result one by one.
void cpostgres_by_rows(cpostgres *);
// Returns null if the statement has no more results.
cpostgres_result *cpostgres_next(cpostgres *);
// Takes the next notification of a channel. Returns 0 if there is none.
int cpostgres_notification(cpostgres *, char *text, size_t capacity);

#define CPOSTGRES_DONE 0
// Either one row of several, or the end of the answer with all remaining rows or none.
#define CPOSTGRES_ROW 1
#define CPOSTGRES_ROWS 2
// The end of a transaction.
#define CPOSTGRES_ENDED 3
#define CPOSTGRES_SKIPPED 4
#define CPOSTGRES_REFUSED 5
// A result that no statement here asks for, such as the beginning of a copy.
#define CPOSTGRES_STRANGE 6
int cpostgres_kind(const cpostgres_result *);
// Return the five characters of SQLSTATE and the server's message, or empty strings.
const char *cpostgres_state(const cpostgres_result *);
const char *cpostgres_message(const cpostgres_result *);
int cpostgres_row_count(const cpostgres_result *);
int cpostgres_column_count(const cpostgres_result *);
uint32_t cpostgres_type(const cpostgres_result *, int column);
int cpostgres_is_binary(const cpostgres_result *, int column);
int cpostgres_is_null(const cpostgres_result *, int row, int column);
int cpostgres_length(const cpostgres_result *, int row, int column);
const char *cpostgres_value(const cpostgres_result *, int row, int column);
void cpostgres_release(cpostgres_result *);
#endif
