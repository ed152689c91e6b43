// SPDX-License-Identifier: Apache-2.0
// Personal information files (RFC 7292), by libcrypto 3, in a library context of one's own that also knows what old
// programs wrote.
#ifndef CCRYPTO_PKCS12_H
#define CCRYPTO_PKCS12_H
#include "CCryptoNumber.h"

enum { ccrypto_bag_certificate = 0, ccrypto_bag_rsa_key = 1, ccrypto_bag_curve_key = 2 };

typedef struct {
    int kind;
    // A certificate: X.509 in DER. An RSA key: PKCS#1 in DER. A key of P-256, P-384 or P-521: 4, x, y and the private
    // number.
    ccrypto_number bytes;
    // What a key and its certificate have in common, and a name in UTF-8. NULL: the bag has none.
    ccrypto_number key_id, name;
} ccrypto_bag;

typedef struct {
    void *state;
    // Gets one key or certificate after the other; the bytes are there during the call, and a key's are wiped after it.
    // What is not 0 ends the reading, and is its result.
    long (*bag)(void *state, const ccrypto_bag *bag);
} ccrypto_bag_visitor;

// Reads a file with a password in UTF-8; no bytes of one are both the empty password and none. -ENOENT and -ENOSYS
// without libcrypto 3, -EBADMSG for what is no such file or is damaged, -EACCES for a wrong password, -ENOTSUP for a
// cipher, a derivation or a kind of key that is not known, -EFBIG for a file above 16 MiB, one with more than 10,000
// parts, and one that wants more than 10,000,000 rounds of one derivation or 40,000,000 in all; -ENOMEM. The library's
// own copies of keys are wiped, but for those that the file has unencrypted.
long ccrypto_pkcs12_read(ccrypto_number file, ccrypto_number password, ccrypto_bag_visitor visitor);
#endif
