// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CCryptoContext.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>

static const uint64_t without_exit_handler = 0x00080000; // OPENSSL_INIT_NO_ATEXIT

static long find(void *library, const struct ccrypto_function *functions, size_t count) {
    if (!library) return -ENOENT;
    // libcrypto's exit handler frees state that the destructors of threads which end at that moment still use.
    int (*initialize)(uint64_t, const void *) = dlsym(library, "OPENSSL_init_crypto");
    if (!initialize || initialize(without_exit_handler, NULL) != 1) return -ENOSYS;
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
