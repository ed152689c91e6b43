// SPDX-License-Identifier: Apache-2.0
// Measures the minimal cost of a remote in PostgreSQL: plain calls of libpq, without the vault. The argument is the
// connection string. Commands come from standard input, and each is answered by a line with a median in nanoseconds:
//
//   insert BYTES COUNT   one row stored and acknowledged
//   notify COUNT         from NOTIFY to a listening connection
//   copy BYTES           this number of bytes stored by one COPY, in rows of 250,000 bytes
#include <arpa/inet.h>
#include <endian.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// The declarations of libpq-fe.h.
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef struct {
    char *relname;
    int be_pid;
    char *extra;
} PGnotify;
PGconn *PQconnectdb(const char *);
int PQstatus(const PGconn *);
int PQsocket(const PGconn *);
char *PQerrorMessage(const PGconn *);
PGresult *PQexec(PGconn *, const char *);
PGresult *PQexecParams(PGconn *, const char *, int, const uint32_t *, const char *const *, const int *, const int *,
                       int);
int PQresultStatus(const PGresult *);
void PQclear(PGresult *);
int PQsendQuery(PGconn *, const char *);
PGresult *PQgetResult(PGconn *);
int PQconsumeInput(PGconn *);
PGnotify *PQnotifies(PGconn *);
void PQfreemem(void *);
int PQputCopyData(PGconn *, const char *, int);
int PQputCopyEnd(PGconn *, const char *);

enum { longest = 250000 };
static unsigned char body[longest], realm[16], stream[16];
static int64_t sequence;

static void fail(const char *what) {
    fprintf(stderr, "LimitPostgres: %s", what);
    exit(1);
}

static void done(PGconn *connection, PGresult *result, int status) {
    if (PQresultStatus(result) != status) fail(PQerrorMessage(connection));
    PQclear(result);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void random_bytes(void *bytes, size_t count) {
    FILE *file = fopen("/dev/urandom", "r");
    if (!file || fread(bytes, 1, count, file) != count) fail("no random bytes\n");
    fclose(file);
}

static uint64_t insert(PGconn *connection, int length) {
    static const uint32_t types[] = {17, 21, 17, 20, 17};
    static const int binary[] = {1, 1, 1, 1, 1};
    uint16_t kind = htons(1);
    int64_t number = (int64_t)htobe64((uint64_t)++sequence);
    const char *values[] = {(char *)realm, (char *)&kind, (char *)stream, (char *)&number, (char *)body};
    int lengths[] = {16, 2, 16, 8, length};
    uint64_t start = now();
    // PGRES_COMMAND_OK
    done(connection,
         PQexecParams(connection, "INSERT INTO vault.record VALUES ($1, $2, $3, $4, $5)", 5, types, values, lengths,
                      binary, 1),
         1);
    return now() - start;
}

static uint64_t notify(PGconn *connection, PGconn *listener) {
    uint64_t start = now();
    if (!PQsendQuery(connection, "NOTIFY vault_limit, '1 00000000000000000000000000000000 1'")) fail("no NOTIFY\n");
    PGnotify *notice;
    while (!(notice = PQnotifies(listener))) {
        struct pollfd waiting = {PQsocket(listener), POLLIN, 0};
        if (poll(&waiting, 1, -1) < 0 || !PQconsumeInput(listener)) fail(PQerrorMessage(listener));
    }
    uint64_t took = now() - start;
    PQfreemem(notice);
    for (PGresult *result; (result = PQgetResult(connection));) done(connection, result, 1);
    return took;
}

static void put(PGconn *connection, const void *bytes, size_t count) {
    if (PQputCopyData(connection, bytes, (int)count) != 1) fail(PQerrorMessage(connection));
}

static void field(PGconn *connection, const void *bytes, uint32_t count) {
    uint32_t length = htonl(count);
    put(connection, &length, sizeof length);
    put(connection, bytes, count);
}

static uint64_t copy(PGconn *connection, int64_t bytes) {
    // The header of COPY's binary format: signature, flags, and the length of the extension; each row begins with its
    // number of fields.
    static const unsigned char head[19] = "PGCOPY\n\377\r\n";
    const uint16_t fields = htons(5), kind = htons(2), last = 0xffff;
    random_bytes(stream, sizeof stream);
    uint64_t start = now();
    // PGRES_COPY_IN
    done(connection, PQexec(connection, "COPY vault.record FROM STDIN (FORMAT binary)"), 4);
    put(connection, head, sizeof head);
    for (int64_t number = 1; (number - 1) * longest < bytes; number++) {
        int64_t name = (int64_t)htobe64((uint64_t)number);
        put(connection, &fields, sizeof fields);
        field(connection, realm, sizeof realm);
        field(connection, &kind, sizeof kind);
        field(connection, stream, sizeof stream);
        field(connection, &name, sizeof name);
        field(connection, body, longest);
    }
    put(connection, &last, sizeof last);
    if (PQputCopyEnd(connection, NULL) != 1) fail(PQerrorMessage(connection));
    for (PGresult *result; (result = PQgetResult(connection));) done(connection, result, 1);
    return now() - start;
}

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int main(int count, char **arguments) {
    if (count != 2) fail("an argument says how to connect\n");
    PGconn *connection = PQconnectdb(arguments[1]), *listener = PQconnectdb(arguments[1]);
    if (PQstatus(connection) != 0) fail(PQerrorMessage(connection));
    if (PQstatus(listener) != 0) fail(PQerrorMessage(listener));
    done(listener, PQexec(listener, "LISTEN vault_limit"), 1);
    random_bytes(body, sizeof body);
    random_bytes(realm, sizeof realm);
    random_bytes(stream, sizeof stream);
    char line[128];
    while (fgets(line, sizeof line, stdin)) {
        static uint64_t took[10000];
        long long bytes = 0;
        int times = 1;
        char what = sscanf(line, "insert %lld %d", &bytes, &times) == 2 && bytes <= longest ? 'i'
                    : sscanf(line, "notify %d", &times) == 1                                 ? 'n'
                    : sscanf(line, "copy %lld", &bytes) == 1                                 ? 'c'
                                                                                             : 0;
        if (!what || times < 1 || times > 10000) fail("no such command\n");
        for (int number = 0; number < times; number++)
            took[number] = what == 'i'   ? insert(connection, (int)bytes)
                           : what == 'n' ? notify(connection, listener)
                                         : copy(connection, bytes);
        qsort(took, (size_t)times, sizeof *took, compare);
        printf("%llu\n", (unsigned long long)took[times / 2]);
        fflush(stdout);
    }
    return 0;
}
