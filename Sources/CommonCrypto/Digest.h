// SPDX-License-Identifier: Apache-2.0
#ifndef COMMONCRYPTO_DIGEST_INTERNAL_H
#define COMMONCRYPTO_DIGEST_INTERNAL_H
#include "CCrypto.h"
#include "CommonCrypto/CommonDigest.h"

enum digest_number {
    digest_md2, digest_md4, digest_md5, digest_sha1, digest_sha224, digest_sha256, digest_sha384, digest_sha512
};

// Functions of libcrypto, and lengths in bytes.
struct digest {
    int (*init)(void *state);
    int (*update)(void *state, const void *data, size_t length);
    int (*final)(unsigned char *output, void *state);
    size_t length, block, state;
    int is_present;
};

HIDDEN const struct digest *commoncrypto_digest(enum digest_number number);

// Makes an output that could not be computed random: a constant in its place would equal that of every other failure.
HIDDEN void commoncrypto_fill(void *output, size_t length);
#endif
