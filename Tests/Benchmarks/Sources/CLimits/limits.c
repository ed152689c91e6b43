// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CLimits.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { value = 256, padded = value + 20, sealed = 24 + 16 + padded, metadata = 208, group = 65536 };

int limits_create(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return file < 0 ? -errno : file;
}

void limits_close(int file) { close(file); }

int limits_append(int file, size_t count) {
    static unsigned char bytes[4096];
    off_t end = lseek(file, 0, SEEK_END);
    if (end < 0 || pwrite(file, bytes, count, end) != (ssize_t)count || fdatasync(file) != 0) return -errno;
    return 0;
}

struct limits_values {
    int file;
    char *path;
    unsigned char root[32];
};

static void item_key(const unsigned char *root, uint64_t index, unsigned char *key) {
    unsigned char input[48] = "VLT1 val";
    memcpy(input + 24, &index, sizeof index);
    crypto_generichash(key, 32, input, sizeof input, root, 32);
}

limits_values *limits_values_create(const char *path, size_t count) {
    if (sodium_init() < 0) return NULL;
    limits_values *values = calloc(1, sizeof *values);
    values->path = strdup(path);
    values->file = limits_create(path);
    randombytes_buf(values->root, 32);
    unsigned char plain[padded] = {0}, box[sealed], key[32];
    for (size_t index = 0; index < count; index++) {
        randombytes_buf(box, 24);
        item_key(values->root, index, key);
        crypto_secretbox_easy(box + 24, plain, padded, box, key);
        if (pwrite(values->file, box, sealed, (off_t)(index * sealed)) != sealed) return NULL;
    }
    return values;
}

int limits_values_get(limits_values *values, size_t index) {
    struct stat status;
    unsigned char box[sealed], plain[padded], key[32];
    if (stat(values->path, &status) != 0) return -1;
    if (pread(values->file, box, sealed, (off_t)(index * sealed)) != sealed) return -1;
    item_key(values->root, index, key);
    int result = crypto_secretbox_open_easy(plain, box + 24, sealed - 24, box, key);
    sodium_memzero(plain, sizeof plain);
    return result;
}

void limits_values_free(limits_values *values) {
    close(values->file);
    free(values->path);
    free(values);
}

int limits_seal(size_t count) {
    static unsigned char plain[group], box[group + 16], nonce[24], key[32];
    for (size_t index = 0; index < count; index++) {
        randombytes_buf(nonce, 24);
        crypto_secretbox_easy(box, plain, padded, nonce, key);
    }
    for (size_t done = 0; done < count * metadata; done += group) {
        randombytes_buf(nonce, 24);
        crypto_secretbox_easy(box, plain, group, nonce, key);
    }
    return 0;
}

int limits_log_create(const char *path, size_t items) {
    static unsigned char plain[group], box[24 + group + 16], key[32];
    int file = limits_create(path);
    if (file < 0) return file;
    size_t each = group / metadata;
    off_t offset = 0;
    for (size_t done = 0; done < items; done += each) {
        crypto_secretbox_easy(box + 24, plain, group, box, key);
        if (pwrite(file, box, sizeof box, offset) != sizeof box) return -errno;
        offset += (off_t)(sizeof box + each * sealed);
    }
    if (ftruncate(file, offset) != 0) return -errno;
    close(file);
    return 0;
}

int limits_log_open(const char *path) {
    static unsigned char plain[group], box[24 + group + 16], key[32], tag[32];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    for (off_t offset = 0;; offset += (off_t)(sizeof box + (size_t)(group / metadata) * sealed)) {
        ssize_t count = pread(file, box, sizeof box, offset);
        if (count == 0) break;
        crypto_generichash_state state;
        crypto_generichash_init(&state, key, 32, 32);
        crypto_generichash_update(&state, tag, 32);
        crypto_generichash_update(&state, box, sizeof box);
        crypto_generichash_final(&state, tag, 32);
        if (count != sizeof box || crypto_secretbox_open_easy(plain, box + 24, group + 16, box, key) != 0) {
            close(file);
            return -1;
        }
    }
    close(file);
    return 0;
}

int limits_hash(const char *path) {
    static unsigned char bytes[1 << 20], tag[32];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -errno;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof tag);
    ssize_t count;
    while ((count = read(file, bytes, sizeof bytes)) > 0) crypto_generichash_update(&state, bytes, (size_t)count);
    crypto_generichash_final(&state, tag, sizeof tag);
    close(file);
    return count < 0 ? -1 : 0;
}

int limits_rewrite(const char *path) {
    static unsigned char bytes[1 << 20];
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    int from = open(path, O_RDONLY | O_CLOEXEC), to = limits_create(temporary);
    if (from < 0 || to < 0) return -errno;
    ssize_t count;
    while ((count = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, (size_t)count) != count) return -errno;
    if (count < 0 || fsync(to) != 0 || rename(temporary, path) != 0) return -errno;
    close(from);
    close(to);
    return 0;
}
