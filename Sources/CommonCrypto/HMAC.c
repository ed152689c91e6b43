// SPDX-License-Identifier: Apache-2.0
// HMAC of libcrypto's digests. libcrypto's own context lies on the heap, while Apple's are copied by assignment, and a
// program that never finishes one would leak the key in it.
#define _GNU_SOURCE
#include "CommonCrypto/CommonHMAC.h"
#include "Digest.h"
#include <string.h>

enum { longest_block = 128, longest_digest = 64 };

// The content of a CCHmacContext.
struct state {
    // 0 after the end, and for an unknown algorithm.
    uint32_t is_open;
    uint32_t algorithm;
    CC_SHA512_CTX inner;
    // The key xor opad (RFC 2104, 2).
    unsigned char outer[longest_block];
};
_Static_assert(sizeof(struct state) <= sizeof(CCHmacContext), "the context has room for the state");
_Static_assert(_Alignof(struct state) <= 8, "");

static const enum digest_number numbers[] = {
    [kCCHmacAlgSHA1] = digest_sha1, [kCCHmacAlgMD5] = digest_md5, [kCCHmacAlgSHA256] = digest_sha256,
    [kCCHmacAlgSHA384] = digest_sha384, [kCCHmacAlgSHA512] = digest_sha512, [kCCHmacAlgSHA224] = digest_sha224,
};

static const struct digest *digest_of(CCHmacAlgorithm algorithm) {
    return algorithm < sizeof numbers / sizeof *numbers ? commoncrypto_digest(numbers[algorithm]) : NULL;
}

static void init(struct state *state, CCHmacAlgorithm algorithm, const void *key, size_t key_length) {
    memset(state, 0, sizeof *state);
    const struct digest *digest = digest_of(algorithm);
    state->algorithm = algorithm;
    if (!digest || !digest->is_present || (!key && key_length)) return;
    unsigned char inner[longest_block] = {0};
    int done = digest->init(&state->inner) == 1;
    // A key longer than a block is replaced by its digest.
    if (key_length > digest->block)
        done = done && digest->update(&state->inner, key, key_length) == 1 &&
               digest->final(inner, &state->inner) == 1 && digest->init(&state->inner) == 1;
    else if (key_length) memcpy(inner, key, key_length);
    for (size_t index = 0; index < digest->block; index++) {
        state->outer[index] = inner[index] ^ 0x5c;
        inner[index] ^= 0x36;
    }
    state->is_open = done && digest->update(&state->inner, inner, digest->block) == 1;
    explicit_bzero(inner, sizeof inner);
}

static void update(struct state *state, const void *data, size_t length) {
    const struct digest *digest = digest_of(state->algorithm);
    if (!state->is_open || !digest || !length) return;
    if (!data || digest->update(&state->inner, data, length) != 1) state->is_open = 0;
}

static void final(struct state *state, void *output) {
    const struct digest *digest = digest_of(state->algorithm);
    unsigned char inside[longest_digest];
    if (output && digest) {
        int done = state->is_open && digest->final(inside, &state->inner) == 1 && digest->init(&state->inner) == 1 &&
                   digest->update(&state->inner, state->outer, digest->block) == 1 &&
                   digest->update(&state->inner, inside, digest->length) == 1 &&
                   digest->final(output, &state->inner) == 1;
        if (!done) commoncrypto_fill(output, digest->length);
        explicit_bzero(inside, sizeof inside);
    }
    // The algorithm stays, so that a second end writes as many bytes, at random.
    uint32_t algorithm = state->algorithm;
    explicit_bzero(state, sizeof *state);
    state->algorithm = algorithm;
}

void CCHmacInit(CCHmacContext *ctx, CCHmacAlgorithm algorithm, const void *key, size_t keyLength) {
    struct state state;
    if (!ctx) return;
    init(&state, algorithm, key, keyLength);
    memcpy(ctx, &state, sizeof state);
    explicit_bzero(&state, sizeof state);
}

void CCHmacUpdate(CCHmacContext *ctx, const void *data, size_t dataLength) {
    struct state state;
    if (!ctx) return;
    // A context has the alignment of uint32_t only.
    memcpy(&state, ctx, sizeof state);
    update(&state, data, dataLength);
    memcpy(ctx, &state, sizeof state);
    explicit_bzero(&state, sizeof state);
}

void CCHmacFinal(CCHmacContext *ctx, void *macOut) {
    struct state state;
    if (!ctx) return;
    memcpy(&state, ctx, sizeof state);
    final(&state, macOut);
    memcpy(ctx, &state, sizeof state);
}

void CCHmac(CCHmacAlgorithm algorithm, const void *key, size_t keyLength, const void *data, size_t dataLength,
            void *macOut) {
    struct state state;
    init(&state, algorithm, key, keyLength);
    update(&state, data, dataLength);
    final(&state, macOut);
}
