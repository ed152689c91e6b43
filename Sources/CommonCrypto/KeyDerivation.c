// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CCrypto.h"
#include "CommonCrypto/CommonKeyDerivation.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct kdf kdf;
typedef struct kdf_context kdf_context;

// OSSL_PARAM, and the types of it in use.
typedef struct {
    const char *name;
    unsigned type;
    void *data;
    size_t size, returned;
} parameter;
enum { type_unsigned = 2, type_text = 4, type_bytes = 5 };

static struct {
    kdf *(*fetch)(ccrypto_context *, const char *name, const char *properties);
    kdf_context *(*new_context)(kdf *);
    void (*free_context)(kdf_context *);
    int (*derive)(kdf_context *, unsigned char *output, size_t length, const parameter *);
} lib;

static kdf *pbkdf2;
static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.fetch, "EVP_KDF_fetch"}, {(void **)&lib.new_context, "EVP_KDF_CTX_new"},
        {(void **)&lib.free_context, "EVP_KDF_CTX_free"}, {(void **)&lib.derive, "EVP_KDF_derive"},
    };
    ccrypto_context *context;
    state = ccrypto_get_context(&context);
    if (!state) state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
    if (!state && !(pbkdf2 = lib.fetch(context, "PBKDF2", NULL))) state = -ENOSYS;
}

int CCKeyDerivationPBKDF(CCPBKDFAlgorithm algorithm, const char *password, size_t passwordLen, const uint8_t *salt,
                         size_t saltLen, CCPseudoRandomAlgorithm prf, unsigned rounds, uint8_t *derivedKey,
                         size_t derivedKeyLen) {
    static const char *const digests[] = {NULL, "SHA1", "SHA224", "SHA256", "SHA384", "SHA512"};
    if (algorithm != kCCPBKDF2 || !prf || prf > kCCPRFHmacAlgSHA512 || !password || !derivedKey || !derivedKeyLen ||
        !rounds || (!salt && saltLen))
        return kCCParamError;
    pthread_once(&once, load);
    if (state) return kCCUnimplemented;
    const char *digest = digests[prf];
    // libcrypto takes no pointer to nothing.
    static const char nothing;
    parameter parameters[] = {
        {"digest", type_text, (void *)digest, strlen(digest), 0},
        {"pass", type_bytes, (void *)password, passwordLen, 0},
        {"salt", type_bytes, (void *)(salt ? salt : (const uint8_t *)&nothing), saltLen, 0},
        {"iter", type_unsigned, &rounds, sizeof rounds, 0},
        {0},
    };
    ccrypto_mark_errors();
    kdf_context *context = lib.new_context(pbkdf2);
    int done = context && lib.derive(context, derivedKey, derivedKeyLen, parameters) == 1;
    // Wipes the password.
    lib.free_context(context);
    ccrypto_forget_errors();
    return done ? kCCSuccess : context ? kCCParamError : kCCMemoryFailure;
}

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1000000;
}

unsigned CCCalibratePBKDF(CCPBKDFAlgorithm algorithm, size_t passwordLen, size_t saltLen, CCPseudoRandomAlgorithm prf,
                          size_t derivedKeyLen, uint32_t msec) {
    enum { measured = 20000, least = 10000, longest_salt = 132, longest_other = 1 << 20 };
    if (!derivedKeyLen || saltLen > longest_salt || derivedKeyLen > longest_other || passwordLen > longest_other)
        return UINT_MAX;
    uint8_t salt[longest_salt] = {0};
    char *password = calloc(1, passwordLen + 1);
    uint8_t *output = malloc(derivedKeyLen);
    double start = milliseconds();
    int status = kCCMemoryFailure;
    if (password && output)
        status = CCKeyDerivationPBKDF(algorithm, password, passwordLen, salt, saltLen, prf, measured, output,
                                      derivedKeyLen);
    double rounds = msec * (measured / (milliseconds() - start));
    free(password);
    free(output);
    if (status) return UINT_MAX;
    return rounds < least ? least : rounds > INT_MAX ? INT_MAX : (unsigned)rounds;
}
