// SPDX-License-Identifier: Apache-2.0
// Signatures by keys of other programs, whose numbers come as they are, by libcrypto. Numbers are big-endian. Every
// `long` is 0 or more, or -errno: -ENOENT without the library, -ENOSYS without a function, -EINVAL for what is no key,
// -EBADMSG for a signature that is not the key's, -ENOMEM.
#ifndef CCRYPTO_KEYS_H
#define CCRYPTO_KEYS_H
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const void *bytes;
    size_t count;
} ccrypto_number;

// `bits` of a curve: 256, 384 or 521 (FIPS 186-4); of a hash: 256, 384 or 512 (SHA-2). A point is uncompressed (SEC 1,
// 2.3.3): 4, x, y. A signature by a curve is r and s, each with as many bytes as the curve's numbers have: 32, 48, 66.

// Whether a point is one of the curve's.
long ccrypto_ecdsa_check_point(int bits, ccrypto_number point);
// Whether, beside that, the private number is the point's.
long ccrypto_ecdsa_check(int bits, ccrypto_number point, ccrypto_number private);
long ccrypto_ecdsa_sign(int bits, ccrypto_number point, ccrypto_number private, int hash, ccrypto_number message,
                        void *signature);
long ccrypto_ecdsa_verify(int bits, ccrypto_number point, int hash, ccrypto_number message, const void *signature);

// The numbers of an RSA key (RFC 8017), of which the public ones are the first two.
typedef struct {
    ccrypto_number n, e, d, iqmp, p, q;
} ccrypto_rsa;

// Whether the public numbers may be a key's: n of 2,048 to 16,384 bits and odd, e odd, more than 1, of 64 bits at most.
long ccrypto_rsa_check_public(ccrypto_rsa key);
// Whether, beside that, the private numbers are those of the public ones.
long ccrypto_rsa_check(ccrypto_rsa key);
// PKCS#1 v1.5; the signature has as many bytes as n. One that the public numbers do not verify is not given out.
long ccrypto_rsa_sign(ccrypto_rsa key, int hash, ccrypto_number message, void *signature, size_t room);
long ccrypto_rsa_verify(ccrypto_rsa key, int hash, ccrypto_number message, ccrypto_number signature);
#endif
