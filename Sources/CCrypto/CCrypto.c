// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CCrypto.h"
#include "CCryptoLibrary.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

typedef struct cipher_context cipher_context;
typedef struct number number;
typedef struct number_context number_context;

static struct {
    const void *(*sha1)(void);
    const void *(*sha256)(void);
    unsigned char *(*hmac)(const void *digest, const void *key, int key_length, const unsigned char *message,
                           size_t message_length, unsigned char *output, unsigned int *output_length);
    int (*pbkdf2)(const char *password, int password_length, const unsigned char *salt, int salt_length,
                  int iterations, const void *digest, int length, unsigned char *output);
    cipher_context *(*new_context)(void);
    void (*free_context)(cipher_context *);
    const void *(*aes_128_cbc)(void);
    const void *(*aes_256_cbc)(void);
    const void *(*aes_256_gcm)(void);
    int (*init)(cipher_context *, const void *cipher, void *engine, const unsigned char *key,
                const unsigned char *vector, int encrypts);
    int (*update)(cipher_context *, unsigned char *output, int *length, const unsigned char *input, int input_length);
    int (*final)(cipher_context *, unsigned char *output, int *length);
    int (*control)(cipher_context *, int type, int argument, void *pointer);
    number_context *(*new_numbers)(void);
    void (*free_numbers)(number_context *);
    number *(*oakley_prime_1024)(number *);
    number *(*new_number)(void);
    void (*wipe_number)(number *);
    const number *(*one)(void);
    number *(*read_number)(const unsigned char *, int length, number *);
    int (*write_number)(const number *, unsigned char *, int length);
    int (*compare)(const number *, const number *);
    int (*subtract)(number *difference, const number *, const number *);
    int (*power)(number *result, const number *base, const number *exponent, const number *modulus, number_context *,
                 void *montgomery);
} lib;

static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.sha1, "EVP_sha1"}, {(void **)&lib.sha256, "EVP_sha256"}, {(void **)&lib.hmac, "HMAC"},
        {(void **)&lib.pbkdf2, "PKCS5_PBKDF2_HMAC"}, {(void **)&lib.new_context, "EVP_CIPHER_CTX_new"},
        {(void **)&lib.free_context, "EVP_CIPHER_CTX_free"}, {(void **)&lib.aes_128_cbc, "EVP_aes_128_cbc"},
        {(void **)&lib.aes_256_cbc, "EVP_aes_256_cbc"}, {(void **)&lib.aes_256_gcm, "EVP_aes_256_gcm"},
        {(void **)&lib.init, "EVP_CipherInit_ex"}, {(void **)&lib.update, "EVP_CipherUpdate"},
        {(void **)&lib.final, "EVP_CipherFinal_ex"}, {(void **)&lib.control, "EVP_CIPHER_CTX_ctrl"},
        {(void **)&lib.new_numbers, "BN_CTX_new"}, {(void **)&lib.free_numbers, "BN_CTX_free"},
        {(void **)&lib.oakley_prime_1024, "BN_get_rfc2409_prime_1024"}, {(void **)&lib.new_number, "BN_new"},
        {(void **)&lib.wipe_number, "BN_clear_free"}, {(void **)&lib.one, "BN_value_one"},
        {(void **)&lib.read_number, "BN_bin2bn"}, {(void **)&lib.write_number, "BN_bn2binpad"},
        {(void **)&lib.compare, "BN_cmp"}, {(void **)&lib.subtract, "BN_sub"},
        {(void **)&lib.power, "BN_mod_exp_mont_consttime"},
    };
    state = ccrypto_load(functions, sizeof functions / sizeof *functions);
}

static long ready(void) {
    pthread_once(&once, load);
    return state;
}

long ccrypto_hmac_sha1(const void *key, size_t key_length, const void *message, size_t message_length, void *output) {
    long flaw = ready();
    if (flaw) return flaw;
    if (key_length > INT_MAX) return -EINVAL;
    unsigned int length = 0;
    if (!lib.hmac(lib.sha1(), key, (int)key_length, message, message_length, output, &length)) return -ENOSYS;
    return length == 20 ? 0 : -ENOSYS;
}

long ccrypto_pbkdf2_sha256(const void *password, size_t password_length, const void *salt, size_t salt_length,
                           uint32_t iterations, void *output, size_t length) {
    long flaw = ready();
    if (flaw) return flaw;
    if (password_length > INT_MAX || salt_length > INT_MAX || iterations > INT_MAX || length > INT_MAX) return -EINVAL;
    int done = lib.pbkdf2(password, (int)password_length, salt, (int)salt_length, (int)iterations, lib.sha256(),
                          (int)length, output);
    return done == 1 ? 0 : -ENOSYS;
}

long ccrypto_argon2id(uint32_t passes, uint32_t memory_kibibytes, uint32_t lanes, const void *password,
                      size_t password_length, const void *salt, size_t salt_length, void *output, size_t length) {
    void *library = dlopen("libargon2.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return -ENOENT;
    int (*hash)(uint32_t, uint32_t, uint32_t, const void *, size_t, const void *, size_t, void *, size_t);
    *(void **)&hash = dlsym(library, "argon2id_hash_raw");
    if (!hash) return -ENOSYS;
    int result = hash(passes, memory_kibibytes, lanes, password, password_length, salt, salt_length, output, length);
    // ARGON2_MEMORY_ALLOCATION_ERROR
    return result == 0 ? 0 : result == -22 ? -ENOMEM : -EINVAL;
}

long ccrypto_aes_cbc(int encrypts, const void *key, size_t key_length, const void *vector, const void *input,
                     size_t input_length, void *output) {
    long flaw = ready();
    if (flaw) return flaw;
    if (input_length > INT_MAX - 32 || (key_length != 16 && key_length != 32)) return -EINVAL;
    cipher_context *context = lib.new_context();
    if (!context) return -ENOMEM;
    const void *cipher = key_length == 16 ? lib.aes_128_cbc() : lib.aes_256_cbc();
    int first = 0, last = 0;
    int done = lib.init(context, cipher, NULL, key, vector, encrypts) == 1 &&
               lib.update(context, output, &first, input, (int)input_length) == 1 &&
               lib.final(context, (unsigned char *)output + first, &last) == 1;
    // Wipes the round keys and the rest of a block.
    lib.free_context(context);
    return done ? first + last : -EBADMSG;
}

long ccrypto_aes_gcm_open(const void *key, const void *nonce, const void *tag, const void *input, size_t input_length,
                          void *output) {
    long flaw = ready();
    if (flaw) return flaw;
    if (input_length > INT_MAX) return -EINVAL;
    cipher_context *context = lib.new_context();
    if (!context) return -ENOMEM;
    unsigned char rest[16];
    int first = 0, last = 0;
    // EVP_CTRL_AEAD_SET_TAG; a nonce of 12 bytes is the default of GCM.
    int done = lib.init(context, lib.aes_256_gcm(), NULL, key, nonce, 0) == 1 &&
               lib.update(context, output, &first, input, (int)input_length) == 1 &&
               lib.control(context, 0x11, 16, (void *)tag) == 1 && lib.final(context, rest, &last) == 1;
    lib.free_context(context);
    return done ? 0 : -EBADMSG;
}

// The base to the power of the private number, in a time that does not depend on the private number.
static long oakley_power(const void *base, size_t base_length, const void *private, void *output) {
    long flaw = ready();
    if (flaw) return flaw;
    if (base_length > 128) return -EINVAL;
    number_context *context = lib.new_numbers();
    number *prime = lib.oakley_prime_1024(NULL), *last = lib.new_number(), *result = lib.new_number();
    number *b = lib.read_number(base, (int)base_length, NULL), *exponent = lib.read_number(private, 128, NULL);
    flaw = -ENOMEM;
    if (context && prime && last && result && b && exponent && lib.subtract(last, prime, lib.one())) {
        // Powers of 0, 1 and p - 1 are predictable without the private number.
        if (lib.compare(b, lib.one()) <= 0 || lib.compare(b, last) >= 0) flaw = -EINVAL;
        else if (lib.power(result, b, exponent, prime, context, NULL) == 1 &&
                 lib.write_number(result, output, 128) == 128) flaw = 0;
    }
    // All of these accept a null pointer.
    lib.wipe_number(exponent);
    lib.wipe_number(b);
    lib.wipe_number(result);
    lib.wipe_number(last);
    lib.wipe_number(prime);
    lib.free_numbers(context);
    return flaw;
}

long ccrypto_dh1024_public(const void *private, void *output) {
    static const unsigned char generator = 2;
    return oakley_power(&generator, 1, private, output);
}

long ccrypto_dh1024_shared(const void *private, const void *peer, size_t peer_length, void *output) {
    return oakley_power(peer, peer_length, private, output);
}
