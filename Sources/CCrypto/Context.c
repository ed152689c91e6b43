// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CCryptoContext.h"
#include <errno.h>
#include <pthread.h>

// A separate context: the host's openssl.cnf does not affect it, and operations in it do not affect other users of the
// library in this process.
static struct {
    ccrypto_context *(*new_context)(void);
    void *(*load_provider)(ccrypto_context *, const char *name);
    int (*mark_errors)(void);
    int (*forget_errors)(void);
} lib;

static long state, legacy_state;
static ccrypto_context *context, *legacy_context;
static pthread_once_t once = PTHREAD_ONCE_INIT, legacy_once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.new_context, "OSSL_LIB_CTX_new"}, {(void **)&lib.load_provider, "OSSL_PROVIDER_load"},
        {(void **)&lib.mark_errors, "ERR_set_mark"}, {(void **)&lib.forget_errors, "ERR_pop_to_mark"},
    };
    state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
    if (state) return;
    context = lib.new_context();
    if (!context) state = -ENOMEM;
}

long ccrypto_get_context(ccrypto_context **output) {
    pthread_once(&once, load);
    *output = context;
    return state;
}

static void load_legacy(void) {
    ccrypto_context *other;
    legacy_state = ccrypto_get_context(&other);
    if (legacy_state) return;
    ccrypto_mark_errors();
    legacy_context = lib.new_context();
    if (!legacy_context) legacy_state = -ENOMEM;
    else if (!lib.load_provider(legacy_context, "default")) legacy_state = -ENOSYS;
    else lib.load_provider(legacy_context, "legacy");
    ccrypto_forget_errors();
}

long ccrypto_get_legacy_context(ccrypto_context **output) {
    pthread_once(&legacy_once, load_legacy);
    *output = legacy_context;
    return legacy_state;
}

void ccrypto_mark_errors(void) { lib.mark_errors(); }

void ccrypto_forget_errors(void) { lib.forget_errors(); }
