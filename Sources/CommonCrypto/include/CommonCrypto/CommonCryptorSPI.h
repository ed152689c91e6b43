// SPDX-License-Identifier: Apache-2.0
// AES-GCM (NIST SP 800-38D). Apple's systems have these functions without a public header.
#ifndef COMMONCRYPTO_CRYPTOR_SPI_H
#define COMMONCRYPTO_CRYPTOR_SPI_H
#include <CommonCrypto/CommonCryptor.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { kCCModeGCM = 11 };

// A message in one call. The initialization vector has 12 to 128 bytes, the tag 8 to 16. kCCKeySizeError;
// kCCUnspecifiedError: the tag is wrong, and the output was wiped.
CCCryptorStatus CCCryptorGCMOneshotEncrypt(CCAlgorithm alg, const void *key, size_t keyLength, const void *iv,
                                           size_t ivLength, const void *aData, size_t aDataLength, const void *dataIn,
                                           size_t dataInLength, void *dataOut, void *tagOut, size_t tagLength);
CCCryptorStatus CCCryptorGCMOneshotDecrypt(CCAlgorithm alg, const void *key, size_t keyLength, const void *iv,
                                           size_t ivLength, const void *aData, size_t aDataLength, const void *dataIn,
                                           size_t dataInLength, void *dataOut, const void *tagIn, size_t tagLength);

// The older call, which also returns the tag when it decrypts: the caller compares the tags, in constant time.
CCCryptorStatus CCCryptorGCM(CCOperation op, CCAlgorithm alg, const void *key, size_t keyLength, const void *iv,
                             size_t ivLength, const void *aData, size_t aDataLength, const void *dataIn,
                             size_t dataInLength, void *dataOut, void *tagOut, size_t *tagLength);

// A message in parts, with a cryptor of kCCModeGCM: the initialization vector, the additional data, the data, the tag.
// The plaintext of a decryption is not authenticated until the tag was checked. kCCUnspecifiedError: another order.
CCCryptorStatus CCCryptorGCMSetIV(CCCryptorRef cryptorRef, const void *iv, size_t ivLength);
CCCryptorStatus CCCryptorGCMAddIV(CCCryptorRef cryptorRef, const void *iv, size_t ivLength);
CCCryptorStatus CCCryptorGCMAddAAD(CCCryptorRef cryptorRef, const void *aData, size_t aDataLength);
CCCryptorStatus CCCryptorGCMEncrypt(CCCryptorRef cryptorRef, const void *dataIn, size_t dataInLength, void *dataOut);
CCCryptorStatus CCCryptorGCMDecrypt(CCCryptorRef cryptorRef, const void *dataIn, size_t dataInLength, void *dataOut);
// The tag, of 8 to 16 bytes: written when encrypting, and when decrypting compared. kCCUnspecifiedError: a wrong one.
CCCryptorStatus CCCryptorGCMFinalize(CCCryptorRef cryptorRef, void *tag, size_t tagLength);
// The older call, which writes the tag in both cases.
CCCryptorStatus CCCryptorGCMFinal(CCCryptorRef cryptorRef, void *tagOut, size_t *tagLength);
// For the next message with the same key.
CCCryptorStatus CCCryptorGCMReset(CCCryptorRef cryptorRef);

#ifdef __cplusplus
}
#endif
#endif
