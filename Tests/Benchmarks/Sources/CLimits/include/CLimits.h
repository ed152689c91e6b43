// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stddef.h>
#include <stdint.h>

/// Opens a file for appending, and truncates it. Returns a descriptor, or -errno.
int limits_create(const char *path);
void limits_close(int file);

/// Appends bytes and syncs them: the minimal cost of a durable change. Returns 0 or -errno.
int limits_append(int file, size_t count);

/// A file with sealed values of 256 bytes, and the key and index for opening one.
typedef struct limits_values limits_values;
limits_values *limits_values_create(const char *path, size_t count);
/// Reads and opens one value: stat, pread, keyed BLAKE2b for the key, open. Returns 0 or -1.
int limits_values_get(limits_values *values, size_t index);
void limits_values_free(limits_values *values);

/// Seals values of 256 bytes and their metadata in boxes of 64 KiB, like one batch. Returns 0 or -1.
int limits_seal(size_t count);

/// Writes a file with the metadata of a number of items in boxes of 64 KiB, each followed by a gap as large as the
/// values. Returns 0 or -errno.
int limits_log_create(const char *path, size_t items);
/// Reads the boxes, chains a keyed BLAKE2b over them, and opens them. Returns 0 or -1.
int limits_log_open(const char *path);

/// Reads a file and hashes it with BLAKE2b. Returns 0 or -errno.
int limits_hash(const char *path);

/// Copies a file beside itself, syncs the copy and renames it over the original. Returns 0 or -errno.
int limits_rewrite(const char *path);
