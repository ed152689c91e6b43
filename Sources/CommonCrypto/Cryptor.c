// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "Cipher.h"
#include <stdlib.h>
#include <string.h>

// MARK: Creation

static int is_key_length(CCAlgorithm algorithm, size_t length) {
    switch (algorithm) {
    case kCCAlgorithmAES: return length == 16 || length == 24 || length == 32;
    case kCCAlgorithmDES: return length == kCCKeySizeDES;
    case kCCAlgorithm3DES: return length == kCCKeySize3DES;
    case kCCAlgorithmCAST: return length >= kCCKeySizeMinCAST && length <= kCCKeySizeMaxCAST;
    case kCCAlgorithmRC4: return length >= kCCKeySizeMinRC4 && length <= kCCKeySizeMaxRC4;
    case kCCAlgorithmRC2: return length >= kCCKeySizeMinRC2 && length <= kCCKeySizeMaxRC2;
    case kCCAlgorithmBlowfish: return length >= kCCKeySizeMinBlowfish && length <= kCCKeySizeMaxBlowfish;
    default: return 0;
    }
}

CCCryptorStatus CCCryptorCreateWithMode(CCOperation op, CCMode mode, CCAlgorithm alg, CCPadding padding, const void *iv,
                                        const void *key, size_t keyLength, const void *tweak, size_t tweakLength,
                                        int numRounds, CCModeOptions options, CCCryptorRef *cryptorRef) {
    (void)tweak, (void)tweakLength, (void)numRounds, (void)options;
    static const unsigned char zero[longest_cipher_block];
    if (!cryptorRef) return kCCParamError;
    *cryptorRef = NULL;
    if (!key || op > kCCDecrypt || alg > kCCAlgorithmBlowfish || padding > ccPKCS7Padding || !mode || mode > kCCModeGCM)
        return kCCParamError;
    if (!is_key_length(alg, keyLength)) return kCCKeySizeError;
    int is_block = alg != kCCAlgorithmRC4 && (mode == kCCModeECB || mode == kCCModeCBC);
    // The vector of a message of GCM comes later. ECB and RC4 have none.
    const void *vector = mode == kCCModeGCM || mode == kCCModeECB || alg == kCCAlgorithmRC4 ? NULL : iv ? iv : zero;
    CCCryptorStatus status;
    const char *name = commoncrypto_cipher_name(alg, mode, keyLength);
    cipher_context *context = commoncrypto_begin(name, key, keyLength, vector, op == kCCEncrypt, &status);
    if (!context) return status;
    CCCryptorRef made = calloc(1, sizeof *made);
    if (made && mode == kCCModeGCM && op == kCCDecrypt)
        made->again = commoncrypto_begin(name, key, keyLength, NULL, 1, &status);
    if (!made || status) {
        commoncrypto_ciphers()->free_context(context);
        free(made);
        return made ? status : kCCMemoryFailure;
    }
    made->context = context;
    made->operation = op;
    made->mode = alg == kCCAlgorithmRC4 ? kCCModeRC4 : mode;
    made->block = !is_block ? 1 : alg == kCCAlgorithmAES ? kCCBlockSizeAES128 : kCCBlockSizeDES;
    made->pads = is_block && padding == ccPKCS7Padding;
    *cryptorRef = made;
    return kCCSuccess;
}

CCCryptorStatus CCCryptorCreate(CCOperation op, CCAlgorithm alg, CCOptions options, const void *key, size_t keyLength,
                                const void *iv, CCCryptorRef *cryptorRef) {
    CCMode mode = options & kCCOptionECBMode ? kCCModeECB : kCCModeCBC;
    CCPadding padding = options & kCCOptionPKCS7Padding ? ccPKCS7Padding : ccNoPadding;
    return CCCryptorCreateWithMode(op, mode, alg, padding, iv, key, keyLength, NULL, 0, 0, 0, cryptorRef);
}

CCCryptorStatus CCCryptorCreateFromData(CCOperation op, CCAlgorithm alg, CCOptions options, const void *key,
                                        size_t keyLength, const void *iv, const void *data, size_t dataLength,
                                        CCCryptorRef *cryptorRef, size_t *dataUsed) {
    (void)data, (void)dataLength;
    if (dataUsed) *dataUsed = 0;
    return CCCryptorCreate(op, alg, options, key, keyLength, iv, cryptorRef);
}

CCCryptorStatus CCCryptorRelease(CCCryptorRef cryptorRef) {
    if (!cryptorRef) return kCCSuccess;
    // Wipes the round keys.
    commoncrypto_ciphers()->free_context(cryptorRef->context);
    commoncrypto_ciphers()->free_context(cryptorRef->again);
    explicit_bzero(cryptorRef, sizeof *cryptorRef);
    free(cryptorRef);
    return kCCSuccess;
}

CCCryptorStatus CCCryptorReset(CCCryptorRef cryptorRef, const void *iv) {
    static const unsigned char zero[longest_cipher_block];
    if (!cryptorRef) return kCCParamError;
    if (cryptorRef->mode != kCCModeCBC && cryptorRef->mode != kCCModeCTR) return kCCUnimplemented;
    cryptorRef->held_length = 0;
    cryptorRef->is_opened = 0;
    explicit_bzero(cryptorRef->held, sizeof cryptorRef->held);
    int done = commoncrypto_ciphers()->init(cryptorRef->context, NULL, NULL, NULL, iv ? iv : zero,
                                            cryptorRef->operation == kCCEncrypt) == 1;
    return done ? kCCSuccess : kCCUnspecifiedError;
}

// MARK: Data

// How much of `length` bytes is processed before the end is known: whole blocks, without the last if it may be padding.
static size_t processed(CCCryptorRef cryptor, size_t length) {
    if (cryptor->pads && cryptor->operation == kCCDecrypt && length) length--;
    return length / cryptor->block * cryptor->block;
}

static int is_too_long(CCCryptorRef cryptor, size_t length) { return length > SIZE_MAX - cryptor->held_length - 32; }

size_t CCCryptorGetOutputLength(CCCryptorRef cryptorRef, size_t inputLength, bool final) {
    if (!cryptorRef || is_too_long(cryptorRef, inputLength)) return 0;
    size_t length = cryptorRef->held_length + inputLength;
    if (!final || !cryptorRef->pads) return processed(cryptorRef, length);
    return cryptorRef->operation == kCCEncrypt ? processed(cryptorRef, length) + cryptorRef->block : length;
}

static CCCryptorStatus run(CCCryptorRef cryptor, const void *input, size_t length, void *output) {
    if (cryptor->mode == kCCModeGCM) return commoncrypto_run_gcm(cryptor, input, length, output);
    return commoncrypto_run(cryptor->context, input, length, output) ? kCCSuccess : kCCUnspecifiedError;
}

// Runs the cipher over what is held and the input, and holds the rest. `count` bytes are written.
static CCCryptorStatus run_and_hold(CCCryptorRef cryptor, const unsigned char *input, size_t length,
                                    unsigned char *output, size_t count) {
    CCCryptorStatus status = kCCSuccess;
    if (count && cryptor->held_length) {
        size_t missing = cryptor->block - cryptor->held_length;
        memcpy(cryptor->held + cryptor->held_length, input, missing);
        status = run(cryptor, cryptor->held, cryptor->block, output);
        input += missing;
        length -= missing;
        output += cryptor->block;
        count -= cryptor->block;
        cryptor->held_length = 0;
    }
    if (!status && count) status = run(cryptor, input, count, output);
    if (status) return status;
    memcpy(cryptor->held + cryptor->held_length, input + count, length - count);
    cryptor->held_length += length - count;
    return kCCSuccess;
}

CCCryptorStatus CCCryptorUpdate(CCCryptorRef cryptorRef, const void *dataIn, size_t dataInLength, void *dataOut,
                                size_t dataOutAvailable, size_t *dataOutMoved) {
    if (!cryptorRef) return kCCParamError;
    if (dataOutMoved) *dataOutMoved = 0;
    if (!dataInLength) return kCCSuccess;
    if (!dataIn || is_too_long(cryptorRef, dataInLength)) return kCCParamError;
    if (cryptorRef->is_opened) return kCCCallSequenceError;
    size_t count = processed(cryptorRef, cryptorRef->held_length + dataInLength);
    if (count > dataOutAvailable) {
        if (dataOutMoved) *dataOutMoved = count;
        return kCCBufferTooSmall;
    }
    if (count && !dataOut) return kCCParamError;
    void *copy;
    if (!commoncrypto_separate(&dataIn, dataInLength, dataOut, count, cryptorRef->held_length != 0, &copy))
        return kCCMemoryFailure;
    CCCryptorStatus status = run_and_hold(cryptorRef, dataIn, dataInLength, dataOut, count);
    commoncrypto_discard(copy, dataInLength);
    if (!status && dataOutMoved) *dataOutMoved = count;
    return status;
}

// The length of PKCS#7 padding (RFC 5652, 6.3), in a time that does not depend on it; 0 if it is none.
static size_t padding_length(const unsigned char *block, size_t size) {
    unsigned length = block[size - 1], wrong = (length == 0) | (length > size);
    for (size_t index = 0; index < size; index++) {
        unsigned is_padding = (unsigned)(size - index) <= length;
        wrong |= is_padding & (block[index] != length);
    }
    return wrong ? 0 : length;
}

CCCryptorStatus CCCryptorFinal(CCCryptorRef cryptorRef, void *dataOut, size_t dataOutAvailable, size_t *dataOutMoved) {
    if (dataOutMoved) *dataOutMoved = 0;
    if (!cryptorRef || cryptorRef->block == 1) return kCCSuccess;
    size_t block = cryptorRef->block, count = 0;
    if (!cryptorRef->pads || (cryptorRef->operation == kCCDecrypt && cryptorRef->held_length % block))
        return cryptorRef->held_length ? kCCAlignmentError : kCCSuccess;
    if (cryptorRef->operation == kCCEncrypt) {
        if (dataOutAvailable < block) return kCCBufferTooSmall;
        if (!dataOut) return kCCParamError;
        memset(cryptorRef->held + cryptorRef->held_length, (int)(block - cryptorRef->held_length),
               block - cryptorRef->held_length);
        CCCryptorStatus status = run(cryptorRef, cryptorRef->held, block, dataOut);
        if (status) return status;
        count = block;
    } else if (cryptorRef->held_length) {
        if (!cryptorRef->is_opened) {
            CCCryptorStatus status = run(cryptorRef, cryptorRef->held, block, cryptorRef->held);
            if (status) return status;
            cryptorRef->is_opened = 1;
        }
        count = block - padding_length(cryptorRef->held, block);
        if (dataOutAvailable < count) return kCCBufferTooSmall;
        if (count && !dataOut) return kCCParamError;
        if (count) memcpy(dataOut, cryptorRef->held, count);
    }
    cryptorRef->held_length = 0;
    cryptorRef->is_opened = 0;
    explicit_bzero(cryptorRef->held, sizeof cryptorRef->held);
    if (dataOutMoved) *dataOutMoved = count;
    return kCCSuccess;
}

CCCryptorStatus CCCrypt(CCOperation op, CCAlgorithm alg, CCOptions options, const void *key, size_t keyLength,
                        const void *iv, const void *dataIn, size_t dataInLength, void *dataOut, size_t dataOutAvailable,
                        size_t *dataOutMoved) {
    CCCryptorRef cryptor;
    CCCryptorStatus status = CCCryptorCreate(op, alg, options, key, keyLength, iv, &cryptor);
    if (status) return status;
    size_t needed = CCCryptorGetOutputLength(cryptor, dataInLength, true), updated = 0, ended = 0;
    if (needed > dataOutAvailable) {
        status = kCCBufferTooSmall;
        updated = needed;
    } else {
        status = CCCryptorUpdate(cryptor, dataIn, dataInLength, dataOut, dataOutAvailable, &updated);
        // A missing output has no place after the update.
        if (!status)
            status = CCCryptorFinal(cryptor, dataOut ? (unsigned char *)dataOut + updated : NULL,
                                    dataOutAvailable - updated, &ended);
    }
    if (dataOutMoved) *dataOutMoved = updated + ended;
    CCCryptorRelease(cryptor);
    return status;
}
