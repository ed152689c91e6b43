// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_CONTEXT_H
#define CCRYPTO_CONTEXT_H
#include "Library.h"

#define HIDDEN __attribute__((visibility("hidden")))

// OSSL_LIB_CTX.
typedef struct ccrypto_context ccrypto_context;

// As `ccrypto_load`, of libcrypto 3 alone: version 1.1 has neither a library context nor EVP_PKEY_fromdata.
HIDDEN long ccrypto_load_3(const struct ccrypto_function *functions, size_t count);

// The context of this process, which is made when it is first asked for and never freed.
HIDDEN long ccrypto_get_context(ccrypto_context **context);

// Between the two, what fails leaves its reasons with the thread, where another user of the library would find them.
// A context was got before.
HIDDEN void ccrypto_mark_errors(void);
HIDDEN void ccrypto_forget_errors(void);
#endif
