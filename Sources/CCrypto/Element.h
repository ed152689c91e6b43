// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_ELEMENT_H
#define CCRYPTO_ELEMENT_H
#include "CCryptoNumber.h"

// Takes the next DER element (X.690) from the bytes: returns its content, or no bytes if it has another tag, exceeds
// the end, or has a length of more than 32 bits. Nothing is taken then.
static inline ccrypto_number ccrypto_take(ccrypto_number *from, unsigned char tag) {
    const ccrypto_number none = {NULL, 0};
    const unsigned char *next = from->bytes;
    size_t rest = from->count;
    if (rest < 2 || *next != tag) return none;
    size_t count = next[1];
    next += 2, rest -= 2;
    if (count >= 0x80) {
        size_t octets = count - 0x80;
        if (octets < 1 || octets > 4 || rest < octets) return none;
        rest -= octets;
        for (count = 0; octets; octets--) count = count << 8 | *next++;
    }
    if (rest < count) return none;
    *from = (ccrypto_number){next + count, rest - count};
    return (ccrypto_number){next, count};
}
#endif
