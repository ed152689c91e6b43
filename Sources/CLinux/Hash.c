// SPDX-License-Identifier: Apache-2.0
// SHA-1 is not in libsodium, and one-time passwords want it (RFC 6238). libcrypto is loaded by name when one is made:
// nothing else of the product needs it, and its loading would cost every command a millisecond.
#define _GNU_SOURCE
#include "CLinux.h"
#include <dlfcn.h>
#include <errno.h>

typedef const void *digest_function(void);
typedef unsigned char *hmac_function(const void *digest, const void *key, int key_length, const unsigned char *message,
                                     size_t message_length, unsigned char *output, unsigned int *output_length);

long clinux_hmac_sha1(const void *key, size_t key_length, const void *message, size_t message_length, void *output) {
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libcrypto.so.1.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return -ENOENT;
    digest_function *sha1 = (digest_function *)dlsym(library, "EVP_sha1");
    hmac_function *hmac = (hmac_function *)dlsym(library, "HMAC");
    if (!sha1 || !hmac) return -ENOSYS;
    unsigned int length = 0;
    if (!hmac(sha1(), key, (int)key_length, message, message_length, output, &length) || length != 20) return -ENOSYS;
    return 0;
}
