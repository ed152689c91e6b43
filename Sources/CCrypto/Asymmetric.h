// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_ASYMMETRIC_INTERNAL_H
#define CCRYPTO_ASYMMETRIC_INTERNAL_H
#include "CCryptoAsymmetric.h"
#include "Context.h"

// libcrypto's name of a hash. NULL: there is none.
HIDDEN const char *ccrypto_hash_name(int hash);

// As `ccrypto_key_sign` with `ecdsa`. What fails leaves its reasons with the thread.
HIDDEN long ccrypto_curve_sign(const ccrypto_key *key, ccrypto_number digest, void *signature, size_t room);

// Takes the message out of a block that was decrypted without a look at its padding (RFC 8017, 7.2.2).
//
// `exponent`: the private one, little-endian. `ciphertext`: as long as the block, of which the message's bytes take the
// place. How many they are; a padding that is wrong gives other bytes, always the same for this ciphertext.
HIDDEN long ccrypto_message_of_block(ccrypto_number exponent, ccrypto_number ciphertext, unsigned char *block,
                                     size_t count);
#endif
