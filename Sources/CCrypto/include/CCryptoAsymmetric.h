// SPDX-License-Identifier: Apache-2.0
// RSA and the NIST curves by libcrypto 3, in a separate library context. A key is loaded for one operation and freed,
// and all of libcrypto's copies of it are wiped. Every `long` is 0 or more, or -errno: -ENOENT without the library,
// -ENOSYS without a function, -EINVAL for an invalid key or mismatched input, -EBADMSG if verification or decryption
// fails, -ENOMEM.
#ifndef CCRYPTO_ASYMMETRIC_H
#define CCRYPTO_ASYMMETRIC_H
#include "CCryptoNumber.h"

enum { ccrypto_rsa_numbers = 8 };

// A public or private key. RSA: n, e, and for a private key d, p, q, dP, dQ, qInv (RFC 8017, 3.2). A curve: the
// uncompressed point, and for a private key its number. Numbers are little-endian, a point is in its encoded form.
typedef struct {
    // 256, 384 or 521; 0 for RSA.
    int curve;
    // 2 or 8 for RSA, 1 or 2 for a curve.
    int count;
    const ccrypto_number *numbers;
} ccrypto_key;

typedef enum {
    ccrypto_scheme_none,
    ccrypto_scheme_pkcs1,
    // PSS: MGF1 with the same hash, and a salt as long as the hash. OAEP: MGF1 with the same hash.
    ccrypto_scheme_pss,
    ccrypto_scheme_oaep,
    // The signature is a DER SEQUENCE of r and s.
    ccrypto_scheme_ecdsa,
} ccrypto_scheme;

// Below, `hash` is 160 (SHA-1), 224, 256, 384 or 512; 0 for none, which `none`, `ecdsa` and PKCS#1 accept.

// Checks that a point is on its curve, and for a private key that all numbers are consistent.
long ccrypto_key_check(const ccrypto_key *key);
// Generates a key. Curve: 4, x, y and the private number consecutively. RSA, e = 65537: n, e, d, p, q, dP, dQ, qInv,
// each as long as n, big-endian. `output` must have room for all.
long ccrypto_key_generate(int curve, int rsa_bits, void *output, size_t room);
// Writes 4, x, y and the private number of a key of P-256, 97 bytes, of which only the private number is known: 1 to 32
// bytes, big-endian. -EBADMSG if the number is 0 or not below the order of the curve.
long ccrypto_p256_complete(ccrypto_number private, void *output);

// The numbers of a private RSA key, big-endian. p and q keep their given lengths.
typedef struct {
    ccrypto_number n, d, p, q, q_inverse;
} ccrypto_rsa_factors;

// dP and dQ, big-endian, as long as p and q. -EINVAL also if p times q is not n or qInv is not q's inverse modulo p;
// whether d matches them shows only at the first signature.
long ccrypto_rsa_exponents(const ccrypto_rsa_factors *from, void *dp, void *dq);

// Returns the length of the signature.
long ccrypto_key_sign(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number digest, void *signature,
                      size_t room);
long ccrypto_key_verify(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number digest,
                        ccrypto_number signature);
// Returns the length of the output. Without a scheme the input is as long as n.
long ccrypto_key_encrypt(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number input, void *output,
                         size_t room);
// With PKCS#1 a wrong padding has the same outcome as a right one: see Rejection.c. The input is then as long as n.
long ccrypto_key_decrypt(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number input, void *output,
                         size_t room);
// Returns the content of a raw signature, as long as n.
long ccrypto_key_recover(const ccrypto_key *key, ccrypto_number signature, void *output, size_t room);
// ECDH (SEC 1, 3.3.1): the x of the shared point, as long as the curve's numbers.
long ccrypto_key_exchange(const ccrypto_key *key, const ccrypto_key *peer, void *output, size_t room);

// Returns the length of the digest.
long ccrypto_digest(int hash, ccrypto_number input, void *output, size_t room);
// AES-GCM with a nonce of 16 bytes, a tag of 16, and a key of 16 or 32. The output is as long as the input.
long ccrypto_gcm_seal(ccrypto_number key, const void *nonce, ccrypto_number additional, ccrypto_number input,
                      void *output, void *tag);
long ccrypto_gcm_open(ccrypto_number key, const void *nonce, ccrypto_number additional, ccrypto_number input,
                      const void *tag, void *output);
#endif
