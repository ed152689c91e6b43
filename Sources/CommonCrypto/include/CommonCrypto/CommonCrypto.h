// SPDX-License-Identifier: Apache-2.0
// Apple's CommonCrypto on libcrypto 3, which the first call loads by name. Without the library every function with a
// status returns kCCUnimplemented, a digest returns 0 or NULL, and an output of fixed length is random.
#ifndef COMMONCRYPTO_H
#define COMMONCRYPTO_H
#include <CommonCrypto/CommonCryptoError.h>
#include <CommonCrypto/CommonCryptor.h>
#include <CommonCrypto/CommonCryptorSPI.h>
#include <CommonCrypto/CommonDigest.h>
#include <CommonCrypto/CommonHMAC.h>
#include <CommonCrypto/CommonKeyDerivation.h>
#include <CommonCrypto/CommonRandom.h>
#include <CommonCrypto/CommonSymmetricKeywrap.h>
#endif
