// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "Cipher.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct cipher_functions lib;
static ccrypto_context *context;
static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.fetch, "EVP_CIPHER_fetch"}, {(void **)&lib.free, "EVP_CIPHER_free"},
        {(void **)&lib.new_context, "EVP_CIPHER_CTX_new"}, {(void **)&lib.free_context, "EVP_CIPHER_CTX_free"},
        {(void **)&lib.init, "EVP_CipherInit_ex"}, {(void **)&lib.set_key_length, "EVP_CIPHER_CTX_set_key_length"},
        {(void **)&lib.set_padding, "EVP_CIPHER_CTX_set_padding"},
        {(void **)&lib.set_flags, "EVP_CIPHER_CTX_set_flags"}, {(void **)&lib.control, "EVP_CIPHER_CTX_ctrl"},
        {(void **)&lib.update, "EVP_CipherUpdate"}, {(void **)&lib.final, "EVP_CipherFinal_ex"},
    };
    state = ccrypto_get_legacy_context(&context);
    if (!state) state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
}

const struct cipher_functions *commoncrypto_ciphers(void) {
    pthread_once(&once, load);
    return state ? NULL : &lib;
}

const char *commoncrypto_cipher_name(CCAlgorithm algorithm, CCMode mode, size_t key_length) {
    // ECB, CBC, CFB, CFB8, OFB, CTR, GCM; libcrypto calls a feedback of whole blocks CFB, as Apple does.
    static const struct {
        CCAlgorithm algorithm;
        size_t key_length;
        const char *names[7];
    } all[] = {
        {kCCAlgorithmAES, 16,
         {"AES-128-ECB", "AES-128-CBC", "AES-128-CFB", "AES-128-CFB8", "AES-128-OFB", "AES-128-CTR", "AES-128-GCM"}},
        {kCCAlgorithmAES, 24,
         {"AES-192-ECB", "AES-192-CBC", "AES-192-CFB", "AES-192-CFB8", "AES-192-OFB", "AES-192-CTR", "AES-192-GCM"}},
        {kCCAlgorithmAES, 32,
         {"AES-256-ECB", "AES-256-CBC", "AES-256-CFB", "AES-256-CFB8", "AES-256-OFB", "AES-256-CTR", "AES-256-GCM"}},
        {kCCAlgorithmDES, 0, {"DES-ECB", "DES-CBC", "DES-CFB", "DES-CFB8", "DES-OFB"}},
        {kCCAlgorithm3DES, 0, {"DES-EDE3-ECB", "DES-EDE3-CBC", "DES-EDE3-CFB", "DES-EDE3-CFB8", "DES-EDE3-OFB"}},
        {kCCAlgorithmCAST, 0, {"CAST5-ECB", "CAST5-CBC", "CAST5-CFB", NULL, "CAST5-OFB"}},
        {kCCAlgorithmBlowfish, 0, {"BF-ECB", "BF-CBC", "BF-CFB", NULL, "BF-OFB"}},
    };
    static const int places[] = {[kCCModeECB] = 1, [kCCModeCBC] = 2,  [kCCModeCFB] = 3, [kCCModeCFB8] = 4,
                                 [kCCModeOFB] = 5, [kCCModeCTR] = 6, [kCCModeGCM] = 7};
    if (algorithm == kCCAlgorithmRC4) return "RC4";
    if (mode >= sizeof places / sizeof *places || !places[mode]) return NULL;
    for (size_t index = 0; index < sizeof all / sizeof *all; index++)
        if (all[index].algorithm == algorithm && (!all[index].key_length || all[index].key_length == key_length))
            return all[index].names[places[mode] - 1];
    return NULL;
}

cipher_context *commoncrypto_begin(const char *name, const void *key, size_t key_length, const void *vector,
                                   int encrypts, CCCryptorStatus *status) {
    *status = kCCUnimplemented;
    if (!commoncrypto_ciphers() || !name) return NULL;
    ccrypto_mark_errors();
    cipher *cipher = lib.fetch(context, name, NULL);
    cipher_context *made = cipher ? lib.new_context() : NULL;
    if (cipher && !made) *status = kCCMemoryFailure;
    if (made) {
        // EVP_CIPHER_CTX_FLAG_WRAP_ALLOW; of no effect on other ciphers.
        lib.set_flags(made, 1);
        int done = lib.init(made, cipher, NULL, NULL, NULL, encrypts) == 1 &&
                   lib.set_key_length(made, (int)key_length) == 1 &&
                   lib.init(made, NULL, NULL, key, vector, encrypts) == 1 && lib.set_padding(made, 0) == 1;
        *status = done ? kCCSuccess : kCCUnspecifiedError;
        if (!done) {
            lib.free_context(made);
            made = NULL;
        }
    }
    // The context keeps a reference.
    lib.free(cipher);
    ccrypto_forget_errors();
    return made;
}

int commoncrypto_run(cipher_context *running, const void *input, size_t length, void *output) {
    // libcrypto's lengths are of type int.
    enum { most = 1 << 30 };
    int done = 1;
    ccrypto_mark_errors();
    for (size_t offset = 0; done && offset < length;) {
        int part = length - offset < most ? (int)(length - offset) : most, written = 0;
        done = lib.update(running, output ? (unsigned char *)output + offset : NULL, &written,
                          (const unsigned char *)input + offset, part) == 1;
        offset += (size_t)part;
    }
    ccrypto_forget_errors();
    return done;
}

int commoncrypto_separate(const void **input, size_t length, const void *output, size_t count, int writes_earlier,
                          void **copy) {
    const unsigned char *from = *input, *to = output;
    *copy = NULL;
    int overlaps = from < to + count && to < from + length;
    if (!overlaps || (from == to && !writes_earlier)) return 1;
    *copy = malloc(length);
    if (!*copy) return 0;
    *input = memcpy(*copy, *input, length);
    return 1;
}

void commoncrypto_discard(void *copy, size_t length) {
    if (copy) explicit_bzero(copy, length);
    free(copy);
}
