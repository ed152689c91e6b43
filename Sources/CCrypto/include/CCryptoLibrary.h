// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_LIBRARY_H
#define CCRYPTO_LIBRARY_H
#include <stddef.h>

struct ccrypto_function {
    void **place;
    const char *name;
};

// Finds functions of libcrypto, which is loaded by name. -ENOENT if it is missing; -ENOSYS if it lacks one of them.
__attribute__((visibility("hidden"))) long ccrypto_load(const struct ccrypto_function *functions, size_t count);
#endif
