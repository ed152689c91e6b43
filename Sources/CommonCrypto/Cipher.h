// SPDX-License-Identifier: Apache-2.0
#ifndef COMMONCRYPTO_CIPHER_H
#define COMMONCRYPTO_CIPHER_H
#include "CCrypto.h"
#include "CommonCrypto/CommonCryptorSPI.h"

typedef struct cipher cipher;
typedef struct cipher_context cipher_context;

// Functions of libcrypto.
struct cipher_functions {
    cipher *(*fetch)(ccrypto_context *, const char *name, const char *properties);
    void (*free)(cipher *);
    cipher_context *(*new_context)(void);
    void (*free_context)(cipher_context *);
    int (*init)(cipher_context *, const cipher *, void *engine, const unsigned char *key, const unsigned char *vector,
                int encrypts);
    int (*set_key_length)(cipher_context *, int length);
    int (*set_padding)(cipher_context *, int pads);
    void (*set_flags)(cipher_context *, int flags);
    int (*control)(cipher_context *, int type, int argument, void *pointer);
    int (*update)(cipher_context *, unsigned char *output, int *length, const unsigned char *input, int input_length);
    int (*final)(cipher_context *, unsigned char *output, int *length);
};

// NULL without the library.
HIDDEN const struct cipher_functions *commoncrypto_ciphers(void);

enum { longest_cipher_block = 16 };

struct _CCCryptor {
    cipher_context *context;
    CCOperation operation;
    CCMode mode;
    int pads;
    // 1 for a stream.
    size_t block;
    // The input that waits for the rest of its block, or for the end.
    unsigned char held[longest_cipher_block];
    size_t held_length;
    // Whether `held` is the last block, decrypted, whose output had no room.
    int is_opened;
    // GCM. libcrypto does not return the tag when it decrypts, so a second context encrypts the plaintext again.
    cipher_context *again;
    int has_vector, has_ended;
};

// libcrypto's name of a cipher; NULL if there is none.
HIDDEN const char *commoncrypto_cipher_name(CCAlgorithm, CCMode, size_t key_length);

// Begins a cipher without padding. The vector may be NULL, to be set later. NULL on error.
HIDDEN cipher_context *commoncrypto_begin(const char *name, const void *key, size_t key_length, const void *vector,
                                          int encrypts, CCCryptorStatus *status);

// Runs a cipher over whole blocks, or a stream; the output may be the input, or NULL for additional data of GCM.
HIDDEN int commoncrypto_run(cipher_context *, const void *input, size_t length, void *output);

// Copies the input if writing `count` bytes of output would change input that is not read yet. If both begin at the
// same byte, that is the case only if earlier input is written first. Returns 0 without memory for the copy, which
// `commoncrypto_discard` wipes.
HIDDEN int commoncrypto_separate(const void **input, size_t length, const void *output, size_t count,
                                 int writes_earlier, void **copy);
HIDDEN void commoncrypto_discard(void *copy, size_t length);

// As `commoncrypto_run` for a cryptor of GCM.
HIDDEN CCCryptorStatus commoncrypto_run_gcm(CCCryptorRef, const void *input, size_t length, void *output);
#endif
