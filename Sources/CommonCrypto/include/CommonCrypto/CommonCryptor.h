// SPDX-License-Identifier: Apache-2.0
// Symmetric ciphers. Lengths are in bytes. kCCParamError: a missing pointer, or an unknown operation, algorithm, mode
// or padding. kCCUnimplemented: libcrypto, or its provider "legacy" for DES, RC4, CAST and Blowfish, is not installed,
// or has no such mode of the algorithm; RC2 is never implemented.
#ifndef COMMONCRYPTO_CRYPTOR_H
#define COMMONCRYPTO_CRYPTOR_H
#include <CommonCrypto/CommonCryptoError.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct _CCCryptor *CCCryptorRef;

enum { kCCEncrypt = 0, kCCDecrypt };
typedef uint32_t CCOperation;

enum {
    kCCAlgorithmAES128 = 0,
    kCCAlgorithmAES = 0,
    kCCAlgorithmDES,
    kCCAlgorithm3DES,
    kCCAlgorithmCAST,
    kCCAlgorithmRC4,
    kCCAlgorithmRC2,
    kCCAlgorithmBlowfish,
};
typedef uint32_t CCAlgorithm;

enum { kCCOptionPKCS7Padding = 0x0001, kCCOptionECBMode = 0x0002 };
typedef uint32_t CCOptions;

enum {
    kCCKeySizeAES128 = 16,
    kCCKeySizeAES192 = 24,
    kCCKeySizeAES256 = 32,
    kCCKeySizeDES = 8,
    kCCKeySize3DES = 24,
    kCCKeySizeMinCAST = 5,
    kCCKeySizeMaxCAST = 16,
    kCCKeySizeMinRC4 = 1,
    kCCKeySizeMaxRC4 = 512,
    kCCKeySizeMinRC2 = 1,
    kCCKeySizeMaxRC2 = 128,
    kCCKeySizeMinBlowfish = 8,
    kCCKeySizeMaxBlowfish = 56,
};

enum {
    kCCBlockSizeAES128 = 16,
    kCCBlockSizeDES = 8,
    kCCBlockSize3DES = 8,
    kCCBlockSizeCAST = 8,
    kCCBlockSizeRC2 = 8,
    kCCBlockSizeBlowfish = 8,
};

// Sizes of the memory that CCCryptorCreateFromData takes on Apple's systems.
enum {
    kCCContextSizeAES128 = 404,
    kCCContextSizeDES = 240,
    kCCContextSize3DES = 496,
    kCCContextSizeCAST = 240,
    kCCContextSizeRC4 = 1072,
};

enum {
    kCCModeECB = 1,
    kCCModeCBC = 2,
    kCCModeCFB = 3,
    kCCModeCTR = 4,
    kCCModeOFB = 7,
    kCCModeXTS = 8,
    kCCModeRC4 = 9,
    kCCModeCFB8 = 10,
};
typedef uint32_t CCMode;

enum { ccNoPadding = 0, ccPKCS7Padding = 1 };
typedef uint32_t CCPadding;

// The counter of CTR is always big-endian.
enum { kCCModeOptionCTR_LE = 0x0001, kCCModeOptionCTR_BE = 0x0002 };
typedef uint32_t CCModeOptions;

// Creates a cryptor for ECB, or else CBC; RC4 has no mode. The initialization vector has the length of a block, and is
// zero if it is NULL. kCCKeySizeError.
CCCryptorStatus CCCryptorCreate(CCOperation op, CCAlgorithm alg, CCOptions options, const void *key, size_t keyLength,
                                const void *iv, CCCryptorRef *cryptorRef);

// Creates a cryptor in memory of its own, in spite of the name: a context of libcrypto cannot lie in the caller's.
// `dataUsed` is 0.
CCCryptorStatus CCCryptorCreateFromData(CCOperation op, CCAlgorithm alg, CCOptions options, const void *key,
                                        size_t keyLength, const void *iv, const void *data, size_t dataLength,
                                        CCCryptorRef *cryptorRef, size_t *dataUsed);

// The tweak, the number of rounds and the options have no effect on these modes. CTR, CFB, CFB8, OFB and RC4 ignore the
// padding.
CCCryptorStatus CCCryptorCreateWithMode(CCOperation op, CCMode mode, CCAlgorithm alg, CCPadding padding, const void *iv,
                                        const void *key, size_t keyLength, const void *tweak, size_t tweakLength,
                                        int numRounds, CCModeOptions options, CCCryptorRef *cryptorRef);

// Wipes the key.
CCCryptorStatus CCCryptorRelease(CCCryptorRef cryptorRef);

// Continues where the previous update ended; keeps an incomplete block, and when padding is to be removed the last one.
// The buffers may overlap. kCCBufferTooSmall: nothing was done, and `dataOutMoved` is the length that is needed.
CCCryptorStatus CCCryptorUpdate(CCCryptorRef cryptorRef, const void *dataIn, size_t dataInLength, void *dataOut,
                                size_t dataOutAvailable, size_t *dataOutMoved);

// Adds the padding, or removes it; a wrong padding stays in the output, without an error, as on Apple's systems.
// kCCAlignmentError: an incomplete block. kCCBufferTooSmall: nothing was done.
CCCryptorStatus CCCryptorFinal(CCCryptorRef cryptorRef, void *dataOut, size_t dataOutAvailable, size_t *dataOutMoved);

// The length of the output of an update with so much input, or of that update and the end; 0 for NULL.
size_t CCCryptorGetOutputLength(CCCryptorRef cryptorRef, size_t inputLength, bool final);

// Drops what is kept, and sets the initialization vector. kCCUnimplemented: neither CBC nor CTR.
CCCryptorStatus CCCryptorReset(CCCryptorRef cryptorRef, const void *iv);

// A cryptor's life in one call. kCCBufferTooSmall: `dataOutMoved` is the length that is needed.
CCCryptorStatus CCCrypt(CCOperation op, CCAlgorithm alg, CCOptions options, const void *key, size_t keyLength,
                        const void *iv, const void *dataIn, size_t dataInLength, void *dataOut, size_t dataOutAvailable,
                        size_t *dataOutMoved);

#ifdef __cplusplus
}
#endif
#endif
