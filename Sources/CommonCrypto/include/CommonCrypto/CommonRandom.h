// SPDX-License-Identifier: Apache-2.0
#ifndef COMMONCRYPTO_RANDOM_H
#define COMMONCRYPTO_RANDOM_H
#include <CommonCrypto/CommonCryptoError.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef CCCryptorStatus CCRNGStatus;

// Bytes of the kernel (getrandom(2)). kCCRNGFailure; kCCParamError: no buffer.
CCRNGStatus CCRandomGenerateBytes(void *bytes, size_t count);

#ifdef __cplusplus
}
#endif
#endif
