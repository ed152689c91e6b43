// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_ROUNDS_H
#define CCRYPTO_ROUNDS_H
#include "CCryptoContext.h"

struct algorithm;

// The number of rounds that an X509_ALGOR demands. The file is untrusted, so rounds are counted before any is run. 0
// for a number that is not positive or does not fit; -ENOTSUP for unknown derivations, -EBADMSG. The caller marks
// errors.
HIDDEN long ccrypto_rounds_of_encryption(const struct algorithm *of);
// As above for PBMAC1, which has two algorithms as PBES2 has, the derivation first (RFC 8018, A.4 and A.5).
HIDDEN long ccrypto_rounds_of_scheme(const struct algorithm *of);
#endif
