// SPDX-License-Identifier: Apache-2.0
// The digests are libcrypto's functions on a plain state: a context of EVP_Digest lies on the heap, while Apple's
// contexts are copied by assignment and never freed.
#define _GNU_SOURCE
#include "Digest.h"
#include "CCrypto.h"
#include "CommonCrypto/CommonRandom.h"
#include <pthread.h>
#include <string.h>

enum { count = 8 };
static struct digest digests[count];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    static const struct {
        enum digest_number number;
        size_t length, block, state;
        const char *names[3];
    } all[count] = {
        {digest_md2, 16, 64, sizeof(CC_MD2_CTX), {"MD2_Init", "MD2_Update", "MD2_Final"}},
        {digest_md4, 16, 64, sizeof(CC_MD4_CTX), {"MD4_Init", "MD4_Update", "MD4_Final"}},
        {digest_md5, 16, 64, sizeof(CC_MD5_CTX), {"MD5_Init", "MD5_Update", "MD5_Final"}},
        {digest_sha1, 20, 64, sizeof(CC_SHA1_CTX), {"SHA1_Init", "SHA1_Update", "SHA1_Final"}},
        {digest_sha224, 28, 64, sizeof(CC_SHA256_CTX), {"SHA224_Init", "SHA224_Update", "SHA224_Final"}},
        {digest_sha256, 32, 64, sizeof(CC_SHA256_CTX), {"SHA256_Init", "SHA256_Update", "SHA256_Final"}},
        {digest_sha384, 48, 128, sizeof(CC_SHA512_CTX), {"SHA384_Init", "SHA384_Update", "SHA384_Final"}},
        {digest_sha512, 64, 128, sizeof(CC_SHA512_CTX), {"SHA512_Init", "SHA512_Update", "SHA512_Final"}},
    };
    for (size_t index = 0; index < count; index++) {
        struct digest *digest = &digests[all[index].number];
        *digest = (struct digest){.length = all[index].length, .block = all[index].block, .state = all[index].state};
        const struct ccrypto_function functions[] = {
            {(void **)&digest->init, all[index].names[0]}, {(void **)&digest->update, all[index].names[1]},
            {(void **)&digest->final, all[index].names[2]},
        };
        digest->is_present = ccrypto_load_3(functions, sizeof functions / sizeof *functions) == 0;
    }
}

const struct digest *commoncrypto_digest(enum digest_number number) {
    pthread_once(&once, load);
    return &digests[number];
}

void commoncrypto_fill(void *output, size_t length) {
    // The kernel's generator fails with a bad address only.
    if (output) CCRandomGenerateBytes(output, length);
}

static int init(enum digest_number number, void *state) {
    const struct digest *digest = commoncrypto_digest(number);
    if (!state) return 0;
    memset(state, 0, digest->state);
    return digest->is_present && digest->init(state) == 1;
}

static int update(enum digest_number number, void *state, const void *data, size_t length) {
    const struct digest *digest = commoncrypto_digest(number);
    if (!state || (!data && length) || !digest->is_present) return 0;
    return !length || digest->update(state, data, length) == 1;
}

static int final(enum digest_number number, unsigned char *output, void *state) {
    const struct digest *digest = commoncrypto_digest(number);
    if (!state || !output) return 0;
    int done = digest->is_present && digest->final(output, state) == 1;
    explicit_bzero(state, digest->state);
    if (!done) commoncrypto_fill(output, digest->length);
    return done;
}

static unsigned char *whole(enum digest_number number, const void *data, size_t length, unsigned char *output) {
    CC_SHA512_CTX state;
    _Static_assert(sizeof state >= sizeof(CC_MD2_CTX), "the largest state");
    int done = init(number, &state) && update(number, &state, data, length);
    return final(number, output, &state) && done ? output : NULL;
}

#define DIGEST(name, context, number)                                                                                  \
    int CC_##name##_Init(CC_##context##_CTX *c) { return init(number, c); }                                            \
    int CC_##name##_Update(CC_##context##_CTX *c, const void *data, CC_LONG len) {                                     \
        return update(number, c, data, len);                                                                           \
    }                                                                                                                  \
    int CC_##name##_Final(unsigned char *md, CC_##context##_CTX *c) { return final(number, md, c); }                   \
    unsigned char *CC_##name(const void *data, CC_LONG len, unsigned char *md) { return whole(number, data, len, md); }

DIGEST(MD2, MD2, digest_md2)
DIGEST(MD4, MD4, digest_md4)
DIGEST(MD5, MD5, digest_md5)
DIGEST(SHA1, SHA1, digest_sha1)
DIGEST(SHA224, SHA256, digest_sha224)
DIGEST(SHA256, SHA256, digest_sha256)
DIGEST(SHA384, SHA512, digest_sha384)
DIGEST(SHA512, SHA512, digest_sha512)
