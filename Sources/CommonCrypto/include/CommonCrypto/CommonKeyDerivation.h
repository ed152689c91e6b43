// SPDX-License-Identifier: Apache-2.0
// PBKDF2 (RFC 8018) over HMAC.
#ifndef COMMONCRYPTO_KEY_DERIVATION_H
#define COMMONCRYPTO_KEY_DERIVATION_H
#include <CommonCrypto/CommonCryptoError.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { kCCPBKDF2 = 2 };
typedef uint32_t CCPBKDFAlgorithm;

enum {
    kCCPRFHmacAlgSHA1 = 1,
    kCCPRFHmacAlgSHA224 = 2,
    kCCPRFHmacAlgSHA256 = 3,
    kCCPRFHmacAlgSHA384 = 4,
    kCCPRFHmacAlgSHA512 = 5,
};
typedef uint32_t CCPseudoRandomAlgorithm;

// kCCParamError: no password (which may be empty), no output, no rounds, a salt of which only the length is given, or
// an unknown algorithm.
int CCKeyDerivationPBKDF(CCPBKDFAlgorithm algorithm, const char *password, size_t passwordLen, const uint8_t *salt,
                         size_t saltLen, CCPseudoRandomAlgorithm prf, unsigned rounds, uint8_t *derivedKey,
                         size_t derivedKeyLen);

// Measures how many rounds take `msec` milliseconds here: at least 10,000. `saltLen` is at most 132; UINT_MAX for a bad
// parameter.
unsigned CCCalibratePBKDF(CCPBKDFAlgorithm algorithm, size_t passwordLen, size_t saltLen, CCPseudoRandomAlgorithm prf,
                          size_t derivedKeyLen, uint32_t msec);

#ifdef __cplusplus
}
#endif
#endif
