// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_EC_PRIVATE_KEY_H
#define CCRYPTO_EC_PRIVATE_KEY_H
#include "CCryptoNumber.h"
#include "CCryptoContext.h"

enum { ccrypto_most_curve_key = 1 + 3 * 66 };

// Writes 4, x, y and the private number of an ECPrivateKey (RFC 5915) of P-256, P-384 or P-521, by libcrypto's number
// of the curve. Returns the number of bytes, -ENOTSUP for another curve, or -EBADMSG if it is not a key of that curve.
// The caller marks errors.
HIDDEN long ccrypto_write_curve_key(ccrypto_context *context, int name, ccrypto_number encoded, unsigned char *output);
#endif
