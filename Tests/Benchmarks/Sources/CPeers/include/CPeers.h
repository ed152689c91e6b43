// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>

/// A table of keys and values in another product's store.
typedef struct peer peer;

/// Opens SQLite or SQLCipher with a write-ahead log, synced at each commit. Returns NULL if the library is missing or
/// fails.
peer *peer_sqlite(const char *library, const char *path, const char *passphrase);
/// Opens LMDB, synced at each commit. Returns NULL if the library is missing or fails.
peer *peer_lmdb(const char *library, const char *directory);

/// Stores values of `size` bytes under consecutive keys from `first` on, in one transaction. Returns 0 or an error of
/// the library.
int peer_add(peer *peer, size_t first, size_t count, size_t size);
/// Reads one value. Returns its size, or -1.
long peer_get(peer *peer, size_t key);
void peer_close(peer *peer);

/// HMAC-SHA256 by libcrypto's call of one message.
typedef void (*peer_hmac)(const void *key, size_t key_length, const void *message, size_t length, void *output);
/// NULL if the library is missing.
peer_hmac peer_hmac_sha256(void);
