// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "Cipher.h"
#include "CommonCrypto/CommonSymmetricKeywrap.h"
#include <stdlib.h>
#include <string.h>

enum { semiblock = 8 };

static const uint8_t initial[semiblock] = {0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6, 0xA6};
const uint8_t *const CCrfc3394_iv = initial;
const size_t CCrfc3394_ivLen = sizeof initial;

// Writes `length` bytes more or less 8; the output has that room.
static CCCryptorStatus wrap(int wraps, const uint8_t *vector, const uint8_t *key, size_t key_length,
                            const uint8_t *input, size_t length, uint8_t *output) {
    static const char *const names[] = {"AES-128-WRAP", "AES-192-WRAP", "AES-256-WRAP"};
    CCCryptorStatus status;
    cipher_context *context = commoncrypto_begin(names[key_length / 8 - 2], key, key_length, vector, wraps, &status);
    if (!context) return status;
    int done = commoncrypto_run(context, input, length, output);
    commoncrypto_ciphers()->free_context(context);
    return done ? kCCSuccess : kCCDecodeError;
}

// Wraps or unwraps through memory that is wiped, since the buffers may overlap.
static int convert(int wraps, CCWrappingAlgorithm algorithm, const uint8_t *vector, size_t vector_length,
                   const uint8_t *key, size_t key_length, const uint8_t *input, size_t length, uint8_t *output,
                   size_t *output_length) {
    if (!output_length) return kCCParamError;
    size_t room = *output_length, count = wraps ? length + semiblock : length - semiblock;
    *output_length = 0;
    if (algorithm != kCCWRAPAES || !key || !input || !output || (vector && vector_length < semiblock) ||
        (key_length != 16 && key_length != 24 && key_length != 32) || length > 1 << 30)
        return kCCParamError;
    if (length % semiblock || length < (wraps ? 2 : 3) * semiblock) return wraps ? kCCParamError : kCCDecodeError;
    if (room < count) return kCCParamError;
    // libcrypto wants room for a block more.
    uint8_t *converted = malloc(count + 2 * semiblock);
    if (!converted) return kCCMemoryFailure;
    int status = wrap(wraps, vector ? vector : initial, key, key_length, input, length, converted);
    if (status == kCCDecodeError && vector && !wraps)
        status = wrap(wraps, initial, key, key_length, input, length, converted);
    if (!status) {
        memcpy(output, converted, count);
        *output_length = count;
    }
    explicit_bzero(converted, count + 2 * semiblock);
    free(converted);
    return status;
}

int CCSymmetricKeyWrap(CCWrappingAlgorithm algorithm, const uint8_t *iv, const size_t ivLen, const uint8_t *kek,
                       size_t kekLen, const uint8_t *rawKey, size_t rawKeyLen, uint8_t *wrappedKey,
                       size_t *wrappedKeyLen) {
    return convert(1, algorithm, iv, ivLen, kek, kekLen, rawKey, rawKeyLen, wrappedKey, wrappedKeyLen);
}

int CCSymmetricKeyUnwrap(CCWrappingAlgorithm algorithm, const uint8_t *iv, const size_t ivLen, const uint8_t *kek,
                         size_t kekLen, const uint8_t *wrappedKey, size_t wrappedKeyLen, uint8_t *rawKey,
                         size_t *rawKeyLen) {
    return convert(0, algorithm, iv, ivLen, kek, kekLen, wrappedKey, wrappedKeyLen, rawKey, rawKeyLen);
}

size_t CCSymmetricWrappedSize(CCWrappingAlgorithm algorithm, size_t rawKeyLen) {
    (void)algorithm;
    return rawKeyLen + semiblock;
}

size_t CCSymmetricUnwrappedSize(CCWrappingAlgorithm algorithm, size_t wrappedKeyLen) {
    (void)algorithm;
    return wrappedKeyLen < semiblock ? 0 : wrappedKeyLen - semiblock;
}
