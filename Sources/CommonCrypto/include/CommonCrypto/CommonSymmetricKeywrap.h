// SPDX-License-Identifier: Apache-2.0
// AES key wrap (RFC 3394). The key has at least 16 bytes, and a multiple of 8; wrapped it is 8 bytes longer.
#ifndef COMMONCRYPTO_SYMMETRIC_KEYWRAP_H
#define COMMONCRYPTO_SYMMETRIC_KEYWRAP_H
#include <CommonCrypto/CommonCryptoError.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { kCCWRAPAES = 1 };
typedef uint32_t CCWrappingAlgorithm;

// The initial value of RFC 3394, of 8 bytes. Without one it is used, and when unwrapping also if the given one fails.
extern const uint8_t *const CCrfc3394_iv;
extern const size_t CCrfc3394_ivLen;

// The last argument is the room, and then the length, of the output: 0 on error. The buffers may overlap.
// kCCParamError: a bad length. kCCDecodeError: another key, or a changed wrapped key.
int CCSymmetricKeyWrap(CCWrappingAlgorithm algorithm, const uint8_t *iv, const size_t ivLen, const uint8_t *kek,
                       size_t kekLen, const uint8_t *rawKey, size_t rawKeyLen, uint8_t *wrappedKey,
                       size_t *wrappedKeyLen);
int CCSymmetricKeyUnwrap(CCWrappingAlgorithm algorithm, const uint8_t *iv, const size_t ivLen, const uint8_t *kek,
                         size_t kekLen, const uint8_t *wrappedKey, size_t wrappedKeyLen, uint8_t *rawKey,
                         size_t *rawKeyLen);

size_t CCSymmetricWrappedSize(CCWrappingAlgorithm algorithm, size_t rawKeyLen);
size_t CCSymmetricUnwrappedSize(CCWrappingAlgorithm algorithm, size_t wrappedKeyLen);

#ifdef __cplusplus
}
#endif
#endif
