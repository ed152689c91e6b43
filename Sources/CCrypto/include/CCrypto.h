// SPDX-License-Identifier: Apache-2.0
// Functions that libsodium lacks and other programs' formats require: libcrypto and libargon2, each loaded by name on
// first use. Vaults do not depend on them. Every `long` is 0 or -errno: -ENOENT without the library, -ENOSYS without
// the function, -EBADMSG if decryption fails.
#ifndef CCRYPTO_H
#define CCRYPTO_H
#include <stddef.h>
#include <stdint.h>

// RFC 2104 over SHA-1; 20 bytes of output.
long ccrypto_hmac_sha1(const void *key, size_t key_length, const void *message, size_t message_length, void *output);
// RFC 8018 over HMAC-SHA256.
long ccrypto_pbkdf2_sha256(const void *password, size_t password_length, const void *salt, size_t salt_length,
                           uint32_t iterations, void *output, size_t length);
// RFC 9106, with a salt of any length, which libsodium's version does not accept.
long ccrypto_argon2id(uint32_t passes, uint32_t memory_kibibytes, uint32_t lanes, const void *password,
                      size_t password_length, const void *salt, size_t salt_length, void *output, size_t length);
// AES-CBC with PKCS#7 padding: a key of 16 or 32 bytes, an initialization vector of 16. The output has room for 16
// bytes more than the input. Returns the length of the output.
long ccrypto_aes_cbc(int encrypts, const void *key, size_t key_length, const void *vector, const void *input,
                     size_t input_length, void *output);
// AES-256-GCM with a nonce of 12 bytes and a tag of 16 (SP 800-38D); the output is as long as the input.
long ccrypto_aes_gcm_open(const void *key, const void *nonce, const void *tag, const void *input, size_t input_length,
                          void *output);
// Diffie-Hellman in the second group of RFC 2409: 1024 bits, generator 2. Private numbers, and the output with leading
// zeros, have 128 bytes; the peer's number has at most as many. -EINVAL if that is 0, 1, p - 1 or more.
long ccrypto_dh1024_public(const void *private, void *output);
long ccrypto_dh1024_shared(const void *private, const void *peer, size_t peer_length, void *output);
#include "CCryptoAsymmetric.h"
#include "CCryptoContext.h"
#include "CCryptoLibrary.h"
#include "CCryptoNumber.h"
#include "CCryptoPKCS12.h"
#include "CCryptoTrust.h"
#endif
