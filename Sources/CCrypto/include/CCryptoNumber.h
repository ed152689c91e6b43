// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_NUMBER_H
#define CCRYPTO_NUMBER_H
#include <stddef.h>
#include <stdint.h>

// Bytes lent for a call: of a number, a message, a file.
typedef struct {
    const void *bytes;
    size_t count;
} ccrypto_number;
#endif
