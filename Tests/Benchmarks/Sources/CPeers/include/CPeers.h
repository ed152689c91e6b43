// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>

/// A table of keys and values in somebody else's store.
typedef struct peer peer;

/// SQLite or SQLCipher: a journal written ahead, synced at each commit. Null: the library is not installed, or refuses.
peer *peer_sqlite(const char *library, const char *path, const char *passphrase);
/// LMDB, synced at each commit. Null: the library is not installed, or refuses.
peer *peer_lmdb(const char *library, const char *directory);

/// Stores values of `size` bytes under the keys from `first` on, in one transaction. Returns 0 or an error of the
/// library.
int peer_add(peer *peer, size_t first, size_t count, size_t size);
/// Reads one value. Returns its size, or -1.
long peer_get(peer *peer, size_t key);
void peer_close(peer *peer);
