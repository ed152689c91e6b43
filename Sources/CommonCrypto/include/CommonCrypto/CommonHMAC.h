// SPDX-License-Identifier: Apache-2.0
// HMAC (RFC 2104). A context is plain memory: it may be copied, and needs no release; Final wipes it. The functions
// have no result: without libcrypto, and for an unknown algorithm, the code is random, which no comparison accepts.
#ifndef COMMONCRYPTO_HMAC_H
#define COMMONCRYPTO_HMAC_H
#include <CommonCrypto/CommonDigest.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

enum {
    kCCHmacAlgSHA1,
    kCCHmacAlgMD5,
    kCCHmacAlgSHA256,
    kCCHmacAlgSHA384,
    kCCHmacAlgSHA512,
    kCCHmacAlgSHA224,
};
typedef uint32_t CCHmacAlgorithm;

#define CC_HMAC_CONTEXT_SIZE 96
typedef struct {
    uint32_t ctx[CC_HMAC_CONTEXT_SIZE];
} CCHmacContext;

void CCHmacInit(CCHmacContext *ctx, CCHmacAlgorithm algorithm, const void *key, size_t keyLength);
void CCHmacUpdate(CCHmacContext *ctx, const void *data, size_t dataLength);
// Writes as many bytes as the digest has.
void CCHmacFinal(CCHmacContext *ctx, void *macOut);
void CCHmac(CCHmacAlgorithm algorithm, const void *key, size_t keyLength, const void *data, size_t dataLength,
            void *macOut);

#ifdef __cplusplus
}
#endif
#endif
