// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_ASYMMETRIC_INTERNAL_H
#define CCRYPTO_ASYMMETRIC_INTERNAL_H
#include "CCryptoAsymmetric.h"
#include "CCryptoContext.h"

// libcrypto's name of a hash; NULL if there is none.
HIDDEN const char *ccrypto_hash_name(int hash);

// As `ccrypto_key_sign` with `ecdsa`. Failures leave their reasons in the thread's error queue.
HIDDEN long ccrypto_curve_sign(const ccrypto_key *key, ccrypto_number digest, void *signature, size_t room);

// Extracts the message from a block that was decrypted without checking its padding (RFC 8017, 7.2.2).
//
// `exponent`: the private one, little-endian. `ciphertext`: as long as the block, which the message's bytes overwrite.
// Returns the length of the message; a wrong padding gives other bytes, always the same for this ciphertext.
HIDDEN long ccrypto_message_of_block(ccrypto_number exponent, ccrypto_number ciphertext, unsigned char *block,
                                     size_t count);
#endif
