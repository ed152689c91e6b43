// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_ROUNDS_H
#define CCRYPTO_ROUNDS_H
#include "Context.h"

struct algorithm;

// How many rounds an X509_ALGOR wants, which a stranger's file says: they are counted before there is one. 0 for a
// number that is not positive or does not fit; -ENOTSUP for derivations that are not known, -EBADMSG. Errors are
// marked.
HIDDEN long ccrypto_rounds_of_encryption(const struct algorithm *of);
// Of PBMAC1, which has two algorithms as PBES2 has, the derivation first (RFC 8018, A.4 and A.5).
HIDDEN long ccrypto_rounds_of_scheme(const struct algorithm *of);
#endif
