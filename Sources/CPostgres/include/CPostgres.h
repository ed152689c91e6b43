// SPDX-License-Identifier: Apache-2.0
// PostgreSQL by libpq, which is loaded by name. A connection belongs to one thread at a time. Nothing here waits but
// `cpostgres_wait`: with a host's name goes its address (`hostaddr`), or libpq would look for that.
#ifndef CPOSTGRES_H
#define CPOSTGRES_H
#include <stddef.h>
#include <stdint.h>

typedef struct pg_conn cpostgres;
typedef struct pg_result cpostgres_result;

// 0, -ENOENT without the library, or -ENOSYS without one of its functions: PostgreSQL 14 has all of them.
int cpostgres_load(void);

// Begins to connect; keywords and values as libpq has them, each list with a null at its end. Null: no memory.
cpostgres *cpostgres_start(const char *const *keywords, const char *const *values);
void cpostgres_close(cpostgres *);
#define CPOSTGRES_FAILED 0
#define CPOSTGRES_WANTS_INPUT 1
#define CPOSTGRES_WANTS_OUTPUT 2
#define CPOSTGRES_CONNECTED 3
// One step of connecting.
int cpostgres_step(cpostgres *);
// Once connected: from now on statements go in a pipeline. 0: failed.
int cpostgres_begin(cpostgres *);
int cpostgres_is_open(const cpostgres *);
int cpostgres_is_encrypted(cpostgres *);
// What libpq says of the connection's last failure; of the server's words alone the code.
const char *cpostgres_error(const cpostgres *);

#define CPOSTGRES_OTHER 4
// Waits for what of CPOSTGRES_WANTS_INPUT and CPOSTGRES_WANTS_OUTPUT is asked for, and for another descriptor (or -1)
// that can be read. Which of them there is cause for, with CPOSTGRES_OTHER; 0: nothing came in time; or -errno.
int cpostgres_wait(const cpostgres *, int events, int other, int milliseconds);
// How many bytes have come, at least, and were not taken.
int cpostgres_waiting(const cpostgres *);
// A descriptor that can be read once it was rung; below 0: there is none.
int cpostgres_bell(void);
void cpostgres_ring(int bell);
void cpostgres_close_bell(int bell);

// Queues a statement with parameters in binary, whose rows come in binary. 0: failed.
int cpostgres_send(cpostgres *, const char *statement, int count, const uint32_t *types, const char *const *values,
                   const int *lengths);
// Queues the end of a transaction. 0: failed.
int cpostgres_end(cpostgres *);
// 0: all was sent, 1: not yet, -1: failed.
int cpostgres_flush(cpostgres *);
// Takes what has come. 0: failed.
int cpostgres_take(cpostgres *);
// Whether the next result is not there yet.
int cpostgres_is_busy(cpostgres *);
// Of the statement whose results come next, each row comes by itself.
void cpostgres_by_rows(cpostgres *);
// Null: the statement has no more.
cpostgres_result *cpostgres_next(cpostgres *);
// The next message on a channel that is listened to. 0: there is none.
int cpostgres_notification(cpostgres *, char *text, size_t capacity);

#define CPOSTGRES_DONE 0
// One row of several; and all that are left, or none: the end of the answer.
#define CPOSTGRES_ROW 1
#define CPOSTGRES_ROWS 2
// The end of a transaction.
#define CPOSTGRES_ENDED 3
#define CPOSTGRES_SKIPPED 4
#define CPOSTGRES_REFUSED 5
// What no statement here asks for, such as the beginning of a copy.
#define CPOSTGRES_STRANGE 6
int cpostgres_kind(const cpostgres_result *);
// The five characters of SQLSTATE, or empty; and what the server says, or empty.
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
