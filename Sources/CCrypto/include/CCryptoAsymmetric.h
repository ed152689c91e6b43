// SPDX-License-Identifier: Apache-2.0
// RSA and the NIST curves by libcrypto 3, in a library context of one's own. A key is loaded for one operation and
// freed, with all that libcrypto has copied of it wiped. Every `long` is 0 or more, or -errno: -ENOENT without the
// library, -ENOSYS without a function, -EINVAL for what is no key or does not fit it, -EBADMSG for what does not verify
// or open, -ENOMEM.
#ifndef CCRYPTO_ASYMMETRIC_H
#define CCRYPTO_ASYMMETRIC_H
#include "CCryptoNumber.h"

enum { ccrypto_rsa_numbers = 8 };

// A key, public or private. RSA: n, e, and of a private key d, p, q, dP, dQ, qInv (RFC 8017, 3.2). A curve: the
// uncompressed point, and of a private key its number. Numbers are little-endian, a point is as it is written.
typedef struct {
    // 256, 384 or 521; 0: RSA.
    int curve;
    // 2 or 8 of RSA, 1 or 2 of a curve.
    int count;
    const ccrypto_number *numbers;
} ccrypto_key;

typedef enum {
    ccrypto_scheme_none,
    ccrypto_scheme_pkcs1,
    // Of PSS, MGF1 with the same hash, and salt as long as it; of OAEP MGF1 with the same hash.
    ccrypto_scheme_pss,
    ccrypto_scheme_oaep,
    // The signature is a DER SEQUENCE of r and s.
    ccrypto_scheme_ecdsa,
} ccrypto_scheme;

// Below, `hash` is 160 (SHA-1), 224, 256, 384 or 512; 0: none, which `none`, `ecdsa` and PKCS#1 take.

// Whether a point is on its curve, and of a private key, whether all numbers belong together.
long ccrypto_key_check(const ccrypto_key *key);
// A new key. Curve: 4, x, y and the private number in a row. RSA, e = 65537: n, e, d, p, q, dP, dQ, qInv, each as many
// bytes as n has, big-endian. Both have their room in `output`.
long ccrypto_key_generate(int curve, int rsa_bits, void *output, size_t room);

// Of a private key of RSA, big-endian. p and q are as long as they are written.
typedef struct {
    ccrypto_number n, d, p, q, q_inverse;
} ccrypto_rsa_factors;

// dP and dQ, big-endian, as long as p and q. -EINVAL too when p times q is not n or qInv is not q's inverse modulo p;
// whether d fits to them says the first signature.
long ccrypto_rsa_exponents(const ccrypto_rsa_factors *from, void *dp, void *dq);

// How many bytes the signature has.
long ccrypto_key_sign(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number digest, void *signature,
                      size_t room);
long ccrypto_key_verify(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number digest,
                        ccrypto_number signature);
// How many bytes come out. Without a scheme the input is as long as n.
long ccrypto_key_encrypt(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number input, void *output,
                         size_t room);
// With PKCS#1 a wrong padding ends as a right one does: see Rejection.c. The input is as long as n then.
long ccrypto_key_decrypt(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number input, void *output,
                         size_t room);
// What a raw signature was made of: as many bytes as n has.
long ccrypto_key_recover(const ccrypto_key *key, ccrypto_number signature, void *output, size_t room);
// ECDH (SEC 1, 3.3.1): the x of the shared point, as long as the curve's numbers.
long ccrypto_key_exchange(const ccrypto_key *key, const ccrypto_key *peer, void *output, size_t room);

// How many bytes it has.
long ccrypto_digest(int hash, ccrypto_number input, void *output, size_t room);
// AES-GCM with a nonce of 16 bytes, a tag of 16, and a key of 16 or 32. The output is as long as the input.
long ccrypto_gcm_seal(ccrypto_number key, const void *nonce, ccrypto_number additional, ccrypto_number input,
                      void *output, void *tag);
long ccrypto_gcm_open(ccrypto_number key, const void *nonce, ccrypto_number additional, ccrypto_number input,
                      const void *tag, void *output);
#endif
