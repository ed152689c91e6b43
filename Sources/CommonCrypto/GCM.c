// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "Cipher.h"
#include <string.h>

// libcrypto takes no longer vectors.
enum { least_vector = 12, longest_vector = 128, least_tag = 8, longest_tag = 16 };
// EVP_CTRL_AEAD_SET_IVLEN, …GET_TAG, …SET_TAG.
enum { set_vector_length = 0x09, get_tag = 0x10, set_tag = 0x11 };

static int set_vector(cipher_context *context, const void *vector, size_t length, int encrypts) {
    const struct cipher_functions *lib = commoncrypto_ciphers();
    ccrypto_mark_errors();
    int done = lib->control(context, set_vector_length, (int)length, NULL) == 1 &&
               lib->init(context, NULL, NULL, NULL, vector, encrypts) == 1;
    ccrypto_forget_errors();
    return done;
}

static int end(cipher_context *context) {
    unsigned char rest[longest_cipher_block];
    int length = 0;
    ccrypto_mark_errors();
    int done = commoncrypto_ciphers()->final(context, rest, &length) == 1;
    ccrypto_forget_errors();
    return done;
}

// Whether the arguments could belong to a message.
static int is_message(const void *vector, size_t vector_length, const void *additional, size_t additional_length,
                      const void *input, size_t length, const void *output) {
    return vector && vector_length && vector_length <= longest_vector && (additional || !additional_length) &&
           (input || !length) && output;
}

// MARK: A message in one call

static CCCryptorStatus one(int encrypts, CCAlgorithm algorithm, const void *key, size_t key_length, const void *vector,
                           size_t vector_length, const void *additional, size_t additional_length, const void *input,
                           size_t length, void *output, void *tag, size_t tag_length) {
    if (algorithm != kCCAlgorithmAES) return kCCParamError;
    if (key_length != 16 && key_length != 24 && key_length != 32) return kCCKeySizeError;
    if (!key || !tag || tag_length < least_tag || tag_length > longest_tag || vector_length < least_vector ||
        !is_message(vector, vector_length, additional, additional_length, input, length, output))
        return kCCParamError;
    CCCryptorStatus status;
    const char *name = commoncrypto_cipher_name(algorithm, kCCModeGCM, key_length);
    cipher_context *context = commoncrypto_begin(name, key, key_length, NULL, encrypts, &status);
    if (!context) return status;
    void *copy;
    if (!commoncrypto_separate(&input, length, output, length, 0, &copy)) {
        commoncrypto_ciphers()->free_context(context);
        return kCCMemoryFailure;
    }
    const struct cipher_functions *lib = commoncrypto_ciphers();
    // The tag may lie within the output.
    unsigned char expected[longest_tag];
    if (!encrypts) memcpy(expected, tag, tag_length);
    int done = set_vector(context, vector, vector_length, encrypts) &&
               commoncrypto_run(context, additional, additional_length, NULL) &&
               commoncrypto_run(context, input, length, output) &&
               (encrypts || lib->control(context, set_tag, (int)tag_length, expected) == 1) && end(context) &&
               (!encrypts || lib->control(context, get_tag, (int)tag_length, tag) == 1);
    lib->free_context(context);
    commoncrypto_discard(copy, length);
    if (done) return kCCSuccess;
    if (length) explicit_bzero(output, length);
    return kCCUnspecifiedError;
}

CCCryptorStatus CCCryptorGCMOneshotEncrypt(CCAlgorithm alg, const void *key, size_t keyLength, const void *iv,
                                           size_t ivLength, const void *aData, size_t aDataLength, const void *dataIn,
                                           size_t dataInLength, void *dataOut, void *tagOut, size_t tagLength) {
    return one(1, alg, key, keyLength, iv, ivLength, aData, aDataLength, dataIn, dataInLength, dataOut, tagOut,
               tagLength);
}

CCCryptorStatus CCCryptorGCMOneshotDecrypt(CCAlgorithm alg, const void *key, size_t keyLength, const void *iv,
                                           size_t ivLength, const void *aData, size_t aDataLength, const void *dataIn,
                                           size_t dataInLength, void *dataOut, const void *tagIn, size_t tagLength) {
    // The tag is only read in this case.
    return one(0, alg, key, keyLength, iv, ivLength, aData, aDataLength, dataIn, dataInLength, dataOut, (void *)tagIn,
               tagLength);
}

CCCryptorStatus CCCryptorGCM(CCOperation op, CCAlgorithm alg, const void *key, size_t keyLength, const void *iv,
                             size_t ivLength, const void *aData, size_t aDataLength, const void *dataIn,
                             size_t dataInLength, void *dataOut, void *tagOut, size_t *tagLength) {
    CCCryptorRef cryptor;
    CCCryptorStatus status = CCCryptorCreateWithMode(op, kCCModeGCM, alg, ccNoPadding, NULL, key, keyLength, NULL, 0, 0,
                                                     0, &cryptor);
    if (status) return status;
    status = CCCryptorGCMAddIV(cryptor, iv, ivLength);
    if (!status) status = CCCryptorGCMAddAAD(cryptor, aData, aDataLength);
    if (!status) status = CCCryptorGCMEncrypt(cryptor, dataIn, dataInLength, dataOut);
    if (!status) status = CCCryptorGCMFinal(cryptor, tagOut, tagLength);
    CCCryptorRelease(cryptor);
    return status;
}

// MARK: A message in parts

static int is_gcm(CCCryptorRef cryptor) { return cryptor && cryptor->mode == kCCModeGCM; }

CCCryptorStatus CCCryptorGCMAddIV(CCCryptorRef cryptorRef, const void *iv, size_t ivLength) {
    if (!is_gcm(cryptorRef) || !iv || !ivLength || ivLength > longest_vector) return kCCParamError;
    if (cryptorRef->has_vector) return kCCUnspecifiedError;
    int encrypts = cryptorRef->operation == kCCEncrypt;
    if (!set_vector(cryptorRef->context, iv, ivLength, encrypts) ||
        (cryptorRef->again && !set_vector(cryptorRef->again, iv, ivLength, 1)))
        return kCCUnspecifiedError;
    cryptorRef->has_vector = 1;
    return kCCSuccess;
}

CCCryptorStatus CCCryptorGCMSetIV(CCCryptorRef cryptorRef, const void *iv, size_t ivLength) {
    return ivLength < least_vector ? kCCParamError : CCCryptorGCMAddIV(cryptorRef, iv, ivLength);
}

CCCryptorStatus CCCryptorGCMAddAAD(CCCryptorRef cryptorRef, const void *aData, size_t aDataLength) {
    if (!is_gcm(cryptorRef) || (!aData && aDataLength)) return kCCParamError;
    if (!cryptorRef->has_vector || cryptorRef->has_ended) return kCCUnspecifiedError;
    int done = commoncrypto_run(cryptorRef->context, aData, aDataLength, NULL) &&
               (!cryptorRef->again || commoncrypto_run(cryptorRef->again, aData, aDataLength, NULL));
    return done ? kCCSuccess : kCCUnspecifiedError;
}

CCCryptorStatus commoncrypto_run_gcm(CCCryptorRef cryptor, const void *input, size_t length, void *output) {
    if (!cryptor->has_vector || cryptor->has_ended) return kCCUnspecifiedError;
    if (!commoncrypto_run(cryptor->context, input, length, output)) return kCCUnspecifiedError;
    unsigned char ciphertext[4096];
    for (size_t offset = 0; cryptor->again && offset < length; offset += sizeof ciphertext) {
        size_t part = length - offset < sizeof ciphertext ? length - offset : sizeof ciphertext;
        if (!commoncrypto_run(cryptor->again, (unsigned char *)output + offset, part, ciphertext))
            return kCCUnspecifiedError;
    }
    return kCCSuccess;
}

CCCryptorStatus CCCryptorGCMEncrypt(CCCryptorRef cryptorRef, const void *dataIn, size_t dataInLength, void *dataOut) {
    if (!is_gcm(cryptorRef) || (!dataIn && dataInLength) || !dataOut) return kCCParamError;
    if (!cryptorRef->has_vector || cryptorRef->has_ended) return kCCUnspecifiedError;
    return CCCryptorUpdate(cryptorRef, dataIn, dataInLength, dataOut, dataInLength, NULL);
}

CCCryptorStatus CCCryptorGCMDecrypt(CCCryptorRef cryptorRef, const void *dataIn, size_t dataInLength, void *dataOut) {
    return CCCryptorGCMEncrypt(cryptorRef, dataIn, dataInLength, dataOut);
}

// Computes the tag of the message.
static CCCryptorStatus finish(CCCryptorRef cryptor, void *tag, size_t length) {
    if (!cryptor->has_vector || cryptor->has_ended) return kCCUnspecifiedError;
    cryptor->has_ended = 1;
    cipher_context *context = cryptor->again ? cryptor->again : cryptor->context;
    int done = end(context) && commoncrypto_ciphers()->control(context, get_tag, (int)length, tag) == 1;
    return done ? kCCSuccess : kCCUnspecifiedError;
}

CCCryptorStatus CCCryptorGCMFinal(CCCryptorRef cryptorRef, void *tagOut, size_t *tagLength) {
    if (!is_gcm(cryptorRef) || !tagOut || !tagLength || !*tagLength || *tagLength > longest_tag) return kCCParamError;
    return finish(cryptorRef, tagOut, *tagLength);
}

CCCryptorStatus CCCryptorGCMFinalize(CCCryptorRef cryptorRef, void *tag, size_t tagLength) {
    if (!is_gcm(cryptorRef) || !tag || tagLength < least_tag || tagLength > longest_tag) return kCCParamError;
    if (cryptorRef->operation == kCCEncrypt) return finish(cryptorRef, tag, tagLength);
    unsigned char computed[longest_tag], difference = 0;
    CCCryptorStatus status = finish(cryptorRef, computed, tagLength);
    if (status) return status;
    for (size_t index = 0; index < tagLength; index++) difference |= computed[index] ^ ((unsigned char *)tag)[index];
    explicit_bzero(computed, sizeof computed);
    return difference ? kCCUnspecifiedError : kCCSuccess;
}

CCCryptorStatus CCCryptorGCMReset(CCCryptorRef cryptorRef) {
    if (!is_gcm(cryptorRef)) return kCCParamError;
    cryptorRef->has_vector = 0;
    cryptorRef->has_ended = 0;
    return kCCSuccess;
}
