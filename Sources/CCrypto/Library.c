// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CCryptoContext.h"
#include <dlfcn.h>
#include <errno.h>

static long find(void *library, const struct ccrypto_function *functions, size_t count) {
    if (!library) return -ENOENT;
    for (size_t index = 0; index < count; index++)
        if (!(*functions[index].place = dlsym(library, functions[index].name))) return -ENOSYS;
    return 0;
}

long ccrypto_load_3(const struct ccrypto_function *functions, size_t count) {
    return find(dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL), functions, count);
}

long ccrypto_load(const struct ccrypto_function *functions, size_t count) {
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    return find(library ? library : dlopen("libcrypto.so.1.1", RTLD_NOW | RTLD_LOCAL), functions, count);
}
