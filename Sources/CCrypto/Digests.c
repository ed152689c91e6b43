// SPDX-License-Identifier: Apache-2.0
// Digests and AES-GCM by libcrypto 3.
#include "Asymmetric.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>

typedef struct digest digest;
typedef struct cipher cipher;
typedef struct cipher_context cipher_context;

static struct {
    digest *(*fetch_digest)(ccrypto_context *, const char *name, const char *properties);
    int (*hash)(const void *bytes, size_t count, unsigned char *output, unsigned *length, const digest *, void *engine);
    cipher *(*fetch_cipher)(ccrypto_context *, const char *name, const char *properties);
    cipher_context *(*new_context)(void);
    void (*free_context)(cipher_context *);
    int (*init)(cipher_context *, const cipher *, void *engine, const unsigned char *key, const unsigned char *nonce,
                int encrypts);
    int (*control)(cipher_context *, int type, int argument, void *pointer);
    int (*update)(cipher_context *, unsigned char *output, int *length, const unsigned char *input, int input_length);
    int (*final)(cipher_context *, unsigned char *output, int *length);
} lib;

static const struct {
    int bits;
    const char *name;
} hashes[] = {{160, "SHA1"}, {224, "SHA224"}, {256, "SHA256"}, {384, "SHA384"}, {512, "SHA512"}};

enum { hash_count = sizeof hashes / sizeof *hashes, nonce_length = 16, tag_length = 16 };

static digest *digests[hash_count];
static cipher *aes_128, *aes_256;
static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.fetch_digest, "EVP_MD_fetch"}, {(void **)&lib.hash, "EVP_Digest"},
        {(void **)&lib.fetch_cipher, "EVP_CIPHER_fetch"}, {(void **)&lib.new_context, "EVP_CIPHER_CTX_new"},
        {(void **)&lib.free_context, "EVP_CIPHER_CTX_free"}, {(void **)&lib.init, "EVP_CipherInit_ex"},
        {(void **)&lib.control, "EVP_CIPHER_CTX_ctrl"}, {(void **)&lib.update, "EVP_CipherUpdate"},
        {(void **)&lib.final, "EVP_CipherFinal_ex"},
    };
    ccrypto_context *context;
    state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
    if (!state) state = ccrypto_get_context(&context);
    if (state) return;
    for (int index = 0; index < hash_count; index++)
        if (!(digests[index] = lib.fetch_digest(context, hashes[index].name, NULL))) state = -ENOSYS;
    aes_128 = lib.fetch_cipher(context, "AES-128-GCM", NULL);
    aes_256 = lib.fetch_cipher(context, "AES-256-GCM", NULL);
    if (!aes_128 || !aes_256) state = -ENOSYS;
}

const char *ccrypto_hash_name(int hash) {
    for (int index = 0; index < hash_count; index++)
        if (hashes[index].bits == hash) return hashes[index].name;
    return NULL;
}

long ccrypto_digest(int hash, ccrypto_number input, void *output, size_t room) {
    pthread_once(&once, load);
    if (state) return state;
    for (int index = 0; index < hash_count; index++) {
        if (hashes[index].bits != hash) continue;
        unsigned length = 0;
        if (room < (size_t)hash / 8) return -EINVAL;
        return lib.hash(input.bytes, input.count, output, &length, digests[index], NULL) == 1 ? (long)length : -ENOMEM;
    }
    return -EINVAL;
}

static long gcm(int encrypts, ccrypto_number key, const void *nonce, ccrypto_number additional, ccrypto_number input,
                void *output, void *tag) {
    pthread_once(&once, load);
    if (state) return state;
    if (input.count > INT_MAX || additional.count > INT_MAX || (key.count != 16 && key.count != 32)) return -EINVAL;
    cipher_context *context = lib.new_context();
    if (!context) return -ENOMEM;
    unsigned char rest[nonce_length];
    int length = 0;
    ccrypto_mark_errors();
    // EVP_CTRL_AEAD_SET_IVLEN, before the nonce; EVP_CTRL_AEAD_SET_TAG; EVP_CTRL_AEAD_GET_TAG.
    int done = lib.init(context, key.count == 16 ? aes_128 : aes_256, NULL, NULL, NULL, encrypts) == 1 &&
               lib.control(context, 0x09, nonce_length, NULL) == 1 &&
               lib.init(context, NULL, NULL, key.bytes, nonce, encrypts) == 1 &&
               (!additional.count ||
                lib.update(context, NULL, &length, additional.bytes, (int)additional.count) == 1) &&
               (!input.count || lib.update(context, output, &length, input.bytes, (int)input.count) == 1) &&
               (encrypts || lib.control(context, 0x11, tag_length, tag) == 1) &&
               lib.final(context, rest, &length) == 1 &&
               (!encrypts || lib.control(context, 0x10, tag_length, tag) == 1);
    // Wipes the round keys.
    lib.free_context(context);
    ccrypto_forget_errors();
    return done ? 0 : -EBADMSG;
}

long ccrypto_gcm_seal(ccrypto_number key, const void *nonce, ccrypto_number additional, ccrypto_number input,
                      void *output, void *tag) {
    return gcm(1, key, nonce, additional, input, output, tag);
}

long ccrypto_gcm_open(ccrypto_number key, const void *nonce, ccrypto_number additional, ccrypto_number input,
                      const void *tag, void *output) {
    // The tag is only read in this case.
    return gcm(0, key, nonce, additional, input, output, (void *)tag);
}
