// SPDX-License-Identifier: Apache-2.0
// Personal information files (RFC 7292), by libcrypto 3, in a separate library context that also supports the ciphers
// of old programs.
#ifndef CCRYPTO_PKCS12_H
#define CCRYPTO_PKCS12_H
#include "CCryptoNumber.h"

enum { ccrypto_bag_certificate = 0, ccrypto_bag_rsa_key = 1, ccrypto_bag_curve_key = 2 };

typedef struct {
    int kind;
    // A certificate: X.509 in DER. An RSA key: PKCS#1 in DER. A key of P-256, P-384 or P-521: 4, x, y and the private
    // number.
    ccrypto_number bytes;
    // The identifier that a key and its certificate share, and a name in UTF-8; NULL if the bag has none.
    ccrypto_number key_id, name;
} ccrypto_bag;

typedef struct {
    void *state;
    // Receives one key or certificate per call; the bytes are valid during the call, and a key's are wiped after it. A
    // nonzero result ends the reading and becomes its result.
    long (*bag)(void *state, const ccrypto_bag *bag);
} ccrypto_bag_visitor;

// Reads a file with a password in UTF-8; an empty one stands for both the empty password and no password. -ENOENT and
// -ENOSYS without libcrypto 3, -EBADMSG for another or a damaged file, -EACCES for a wrong password, -ENOTSUP for an
// unknown cipher, derivation or kind of key, -EFBIG for a file above 16 MiB, with more than 10,000 parts, or with more
// than 10,000,000 rounds of one derivation or 40,000,000 in all; -ENOMEM. The library's own copies of keys are wiped,
// except those that are unencrypted in the file.
long ccrypto_pkcs12_read(ccrypto_number file, ccrypto_number password, ccrypto_bag_visitor visitor);
#endif
