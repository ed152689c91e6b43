// SPDX-License-Identifier: Apache-2.0
#include "CPeers.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The declarations needed from sqlite3.h and lmdb.h, whose ABIs are stable.
enum { sqlite_row = 100, sqlite_done = 101, lmdb_rdonly = 0x20000, lmdb_create = 0x40000 };
typedef struct { size_t size; void *data; } lmdb_value;

struct peer {
    void *library, *database, *insert, *select;
    unsigned int table;
};

static unsigned char bytes[65536];

#define FIND(result, name, ...) result (*name)(__VA_ARGS__) = (result(*)(__VA_ARGS__))dlsym(peer->library, #name)

static void *prepare(peer *peer, const char *sql) {
    FIND(int, sqlite3_prepare_v2, void *, const char *, int, void **, const char **);
    void *statement = NULL;
    sqlite3_prepare_v2(peer->database, sql, -1, &statement, NULL);
    return statement;
}

static int execute(peer *peer, const char *sql) {
    FIND(int, sqlite3_exec, void *, const char *, void *, void *, void *);
    return sqlite3_exec(peer->database, sql, NULL, NULL, NULL);
}

peer *peer_sqlite(const char *library, const char *path, const char *passphrase) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return NULL;
    peer *peer = calloc(1, sizeof *peer);
    peer->library = handle;
    FIND(int, sqlite3_open, const char *, void **);
    FIND(int, sqlite3_key, void *, const void *, int);
    if (sqlite3_open(path, &peer->database) != 0) return NULL;
    if (passphrase && (!sqlite3_key || sqlite3_key(peer->database, passphrase, (int)strlen(passphrase)) != 0))
        return NULL;
    if (execute(peer, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                      "CREATE TABLE items(key INTEGER PRIMARY KEY, value BLOB)") != 0)
        return NULL;
    peer->insert = prepare(peer, "INSERT INTO items VALUES(?1, ?2)");
    peer->select = prepare(peer, "SELECT value FROM items WHERE key = ?1");
    return peer->insert && peer->select ? peer : NULL;
}

static int sqlite_add(peer *peer, size_t first, size_t count, size_t size) {
    FIND(int, sqlite3_bind_int64, void *, int, long long);
    FIND(int, sqlite3_bind_blob, void *, int, const void *, int, void (*)(void *));
    FIND(int, sqlite3_step, void *);
    FIND(int, sqlite3_reset, void *);
    if (count > 1 && execute(peer, "BEGIN") != 0) return -1;
    for (size_t key = first; key < first + count; key++) {
        sqlite3_bind_int64(peer->insert, 1, (long long)key);
        sqlite3_bind_blob(peer->insert, 2, bytes, (int)size, NULL);
        int result = sqlite3_step(peer->insert);
        sqlite3_reset(peer->insert);
        if (result != sqlite_done) return result;
    }
    return count > 1 ? execute(peer, "COMMIT") : 0;
}

static long sqlite_get(peer *peer, size_t key) {
    FIND(int, sqlite3_bind_int64, void *, int, long long);
    FIND(int, sqlite3_step, void *);
    FIND(int, sqlite3_reset, void *);
    FIND(int, sqlite3_column_bytes, void *, int);
    FIND(const void *, sqlite3_column_blob, void *, int);
    sqlite3_bind_int64(peer->select, 1, (long long)key);
    long size = -1;
    if (sqlite3_step(peer->select) == sqlite_row) {
        size = sqlite3_column_bytes(peer->select, 0);
        memcpy(bytes, sqlite3_column_blob(peer->select, 0), (size_t)size);
    }
    sqlite3_reset(peer->select);
    return size;
}

peer *peer_lmdb(const char *library, const char *directory) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return NULL;
    peer *peer = calloc(1, sizeof *peer);
    peer->library = handle;
    FIND(int, mdb_env_create, void **);
    FIND(int, mdb_env_set_mapsize, void *, size_t);
    FIND(int, mdb_env_open, void *, const char *, unsigned, unsigned);
    FIND(int, mdb_txn_begin, void *, void *, unsigned, void **);
    FIND(int, mdb_dbi_open, void *, const char *, unsigned, unsigned *);
    FIND(int, mdb_txn_commit, void *);
    void *transaction;
    if (mdb_env_create(&peer->database) || mdb_env_set_mapsize(peer->database, (size_t)8 << 30) ||
        mdb_env_open(peer->database, directory, 0, 0600) || mdb_txn_begin(peer->database, NULL, 0, &transaction) ||
        mdb_dbi_open(transaction, NULL, lmdb_create, &peer->table) || mdb_txn_commit(transaction))
        return NULL;
    return peer;
}

static int lmdb_add(peer *peer, size_t first, size_t count, size_t size) {
    FIND(int, mdb_txn_begin, void *, void *, unsigned, void **);
    FIND(int, mdb_put, void *, unsigned, lmdb_value *, lmdb_value *, unsigned);
    FIND(int, mdb_txn_commit, void *);
    void *transaction;
    int result = mdb_txn_begin(peer->database, NULL, 0, &transaction);
    for (size_t key = first; result == 0 && key < first + count; key++) {
        unsigned long long name = __builtin_bswap64(key);
        lmdb_value k = {sizeof name, &name}, v = {size, bytes};
        result = mdb_put(transaction, peer->table, &k, &v, 0);
    }
    return result ? result : mdb_txn_commit(transaction);
}

static long lmdb_get(peer *peer, size_t key) {
    FIND(int, mdb_txn_begin, void *, void *, unsigned, void **);
    FIND(int, mdb_get, void *, unsigned, lmdb_value *, lmdb_value *);
    FIND(void, mdb_txn_abort, void *);
    void *transaction;
    if (mdb_txn_begin(peer->database, NULL, lmdb_rdonly, &transaction) != 0) return -1;
    unsigned long long name = __builtin_bswap64(key);
    lmdb_value k = {sizeof name, &name}, v = {0, NULL};
    long size = mdb_get(transaction, peer->table, &k, &v) == 0 ? (long)v.size : -1;
    if (size > 0) memcpy(bytes, v.data, v.size);
    mdb_txn_abort(transaction);
    return size;
}

int peer_add(peer *peer, size_t first, size_t count, size_t size) {
    return (peer->insert ? sqlite_add : lmdb_add)(peer, first, count, size);
}

long peer_get(peer *peer, size_t key) { return (peer->insert ? sqlite_get : lmdb_get)(peer, key); }

void peer_close(peer *peer) {
    if (peer->insert) {
        FIND(int, sqlite3_finalize, void *);
        FIND(int, sqlite3_close, void *);
        sqlite3_finalize(peer->insert);
        sqlite3_finalize(peer->select);
        sqlite3_close(peer->database);
    } else {
        FIND(void, mdb_env_close, void *);
        mdb_env_close(peer->database);
    }
    free(peer);
}

static void *(*whole_hmac)(const void *digest, const void *key, int key_length, const unsigned char *, size_t,
                           unsigned char *output, unsigned *length);
static const void *sha256;

static void hmac(const void *key, size_t key_length, const void *message, size_t length, void *output) {
    whole_hmac(sha256, key, (int)key_length, message, length, output, NULL);
}

peer_hmac peer_hmac_sha256(void) {
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
    const void *(*find)(void) = (const void *(*)(void))dlsym(library, "EVP_sha256");
    *(void **)&whole_hmac = dlsym(library, "HMAC");
    if (!find || !whole_hmac) return NULL;
    sha256 = find();
    return hmac;
}
