// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_CONTEXT_H
#define CCRYPTO_CONTEXT_H
#include "CCryptoLibrary.h"

#define HIDDEN __attribute__((visibility("hidden")))

// OSSL_LIB_CTX.
typedef struct ccrypto_context ccrypto_context;

// As `ccrypto_load`, only for libcrypto 3: version 1.1 has neither a library context nor EVP_PKEY_fromdata.
HIDDEN long ccrypto_load_3(const struct ccrypto_function *functions, size_t count);

// The context of this process, created on first use and never freed.
HIDDEN long ccrypto_get_context(ccrypto_context **context);
// Another one, which also has the ciphers of old formats, if the provider "legacy" is installed: RC2, RC4, DES and the
// like.
HIDDEN long ccrypto_get_legacy_context(ccrypto_context **context);

// Failures between the two leave nothing in the thread's error queue, where another user of the library would find it.
// Require that a context was obtained before.
HIDDEN void ccrypto_mark_errors(void);
HIDDEN void ccrypto_forget_errors(void);
#endif
