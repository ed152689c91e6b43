// SPDX-License-Identifier: Apache-2.0
// Allocators for libraries that read secrets: each block is wiped before it is freed. For C files with _GNU_SOURCE.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The length precedes each block, for the wiping; 16 bytes keep the alignment.
static void *allocate(size_t length) {
    if (length > SIZE_MAX - 16) return NULL;
    size_t *block = malloc(length + 16);
    if (!block) return NULL;
    *block = length;
    return (char *)block + 16;
}

static void release(void *pointer) {
    if (!pointer) return;
    char *block = (char *)pointer - 16;
    explicit_bzero(pointer, *(size_t *)block);
    free(block);
}

static void *reallocate(void *pointer, size_t length) {
    void *larger = allocate(length);
    if (!larger || !pointer) return larger;
    size_t old = *(size_t *)((char *)pointer - 16);
    memcpy(larger, pointer, old < length ? old : length);
    release(pointer);
    return larger;
}
