// SPDX-License-Identifier: Apache-2.0
// Measures the lower limit of a command that derives a key: process start, and Argon2id with 64 MiB and 3 passes.
#include <sodium.h>

int main(void) {
    unsigned char key[32], salt[crypto_pwhash_SALTBYTES] = {0};
    if (sodium_init() < 0) return 1;
    return crypto_pwhash(key, sizeof key, "correct horse battery staple", 28, salt, 3, 64 << 20,
                         crypto_pwhash_ALG_ARGON2ID13) != 0;
}
