// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CFido.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct device device;
typedef struct devices devices;
typedef struct information information;
typedef struct credential credential;
typedef struct assertion assertion;

static struct {
    void (*init)(int flags);
    devices *(*devices_new)(size_t);
    void (*devices_free)(devices **, size_t);
    int (*manifest)(devices *, size_t, size_t *);
    const devices *(*device_at)(const devices *, size_t);
    const char *(*path)(const devices *);
    const char *(*manufacturer)(const devices *);
    const char *(*product)(const devices *);
    device *(*device_new)(void);
    void (*device_free)(device **);
    int (*set_transport)(device *, const cfido_transport *);
    int (*set_timeout)(device *, int milliseconds);
    int (*open)(device *, const char *);
    int (*close)(device *);
    int (*cancel)(device *);
    bool (*is_fido2)(const device *);
    bool (*has_pin)(const device *);
    bool (*has_verification)(const device *);
    bool (*has_protection)(const device *);
    int (*retries)(device *, int *);
    int (*begin_touch)(device *);
    int (*touch)(device *, int *, int milliseconds);
    int (*information)(device *, information *);
    information *(*information_new)(void);
    void (*information_free)(information **);
    char **(*extensions)(const information *);
    size_t (*extension_count)(const information *);
    credential *(*credential_new)(void);
    void (*credential_free)(credential **);
    int (*credential_type)(credential *, int);
    int (*credential_hash)(credential *, const void *, size_t);
    int (*credential_party)(credential *, const char *, const char *);
    int (*credential_user)(credential *, const void *, size_t, const char *, const char *, const char *);
    int (*credential_extensions)(credential *, int);
    int (*credential_protection)(credential *, int);
    int (*credential_verification)(credential *, int);
    int (*make)(device *, credential *, const char *);
    const unsigned char *(*identifier)(const credential *);
    size_t (*identifier_count)(const credential *);
    assertion *(*assertion_new)(void);
    void (*assertion_free)(assertion **);
    int (*assertion_hash)(assertion *, const void *, size_t);
    int (*assertion_party)(assertion *, const char *);
    int (*assertion_allow)(assertion *, const void *, size_t);
    int (*assertion_extensions)(assertion *, int);
    int (*assertion_salt)(assertion *, const void *, size_t);
    int (*assertion_presence)(assertion *, int);
    int (*assertion_verification)(assertion *, int);
    int (*assert)(device *, assertion *, const char *);
    size_t (*assertion_count)(const assertion *);
    const unsigned char *(*secret)(const assertion *, size_t);
    size_t (*secret_count)(const assertion *, size_t);
} lib;

// Numbers of fido/param.h and fido/err.h.
enum {
    DISABLE_U2F_FALLBACK = 2, ES256 = -7, HMAC_SECRET = 1, CRED_PROTECT = 2, UV_REQUIRED = 3, OPT_FALSE = 1,
    OPT_TRUE = 2, ERR_RX = -2, ERR_UNSUPPORTED_OPTION = 0x2b, ERR_INTERNAL = -9,
};

// Keys give up after about 30 s without a touch.
static const int patience = 60000;

static int state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct cfido_key {
    device *device;
};

static void load(void) {
    // libfido2 would write all messages of a key to standard error.
    unsetenv("FIDO_DEBUG");
    void *library = dlopen("libfido2.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        state = CFIDO_NO_LIBRARY;
        return;
    }
    const struct {
        void **function;
        const char *name;
    } names[] = {
        {(void **)&lib.init, "fido_init"}, {(void **)&lib.devices_new, "fido_dev_info_new"},
        {(void **)&lib.devices_free, "fido_dev_info_free"}, {(void **)&lib.manifest, "fido_dev_info_manifest"},
        {(void **)&lib.device_at, "fido_dev_info_ptr"}, {(void **)&lib.path, "fido_dev_info_path"},
        {(void **)&lib.manufacturer, "fido_dev_info_manufacturer_string"},
        {(void **)&lib.product, "fido_dev_info_product_string"}, {(void **)&lib.device_new, "fido_dev_new"},
        {(void **)&lib.device_free, "fido_dev_free"}, {(void **)&lib.set_transport, "fido_dev_set_io_functions"},
        {(void **)&lib.set_timeout, "fido_dev_set_timeout"}, {(void **)&lib.open, "fido_dev_open"},
        {(void **)&lib.close, "fido_dev_close"}, {(void **)&lib.cancel, "fido_dev_cancel"},
        {(void **)&lib.is_fido2, "fido_dev_is_fido2"}, {(void **)&lib.has_pin, "fido_dev_has_pin"},
        {(void **)&lib.has_verification, "fido_dev_has_uv"},
        {(void **)&lib.has_protection, "fido_dev_supports_cred_prot"},
        {(void **)&lib.retries, "fido_dev_get_retry_count"}, {(void **)&lib.begin_touch, "fido_dev_get_touch_begin"},
        {(void **)&lib.touch, "fido_dev_get_touch_status"}, {(void **)&lib.information, "fido_dev_get_cbor_info"},
        {(void **)&lib.information_new, "fido_cbor_info_new"},
        {(void **)&lib.information_free, "fido_cbor_info_free"},
        {(void **)&lib.extensions, "fido_cbor_info_extensions_ptr"},
        {(void **)&lib.extension_count, "fido_cbor_info_extensions_len"},
        {(void **)&lib.credential_new, "fido_cred_new"}, {(void **)&lib.credential_free, "fido_cred_free"},
        {(void **)&lib.credential_type, "fido_cred_set_type"},
        {(void **)&lib.credential_hash, "fido_cred_set_clientdata_hash"},
        {(void **)&lib.credential_party, "fido_cred_set_rp"}, {(void **)&lib.credential_user, "fido_cred_set_user"},
        {(void **)&lib.credential_extensions, "fido_cred_set_extensions"},
        {(void **)&lib.credential_protection, "fido_cred_set_prot"},
        {(void **)&lib.credential_verification, "fido_cred_set_uv"}, {(void **)&lib.make, "fido_dev_make_cred"},
        {(void **)&lib.identifier, "fido_cred_id_ptr"}, {(void **)&lib.identifier_count, "fido_cred_id_len"},
        {(void **)&lib.assertion_new, "fido_assert_new"}, {(void **)&lib.assertion_free, "fido_assert_free"},
        {(void **)&lib.assertion_hash, "fido_assert_set_clientdata_hash"},
        {(void **)&lib.assertion_party, "fido_assert_set_rp"},
        {(void **)&lib.assertion_allow, "fido_assert_allow_cred"},
        {(void **)&lib.assertion_extensions, "fido_assert_set_extensions"},
        {(void **)&lib.assertion_salt, "fido_assert_set_hmac_salt"},
        {(void **)&lib.assertion_presence, "fido_assert_set_up"},
        {(void **)&lib.assertion_verification, "fido_assert_set_uv"}, {(void **)&lib.assert, "fido_dev_get_assert"},
        {(void **)&lib.assertion_count, "fido_assert_count"}, {(void **)&lib.secret, "fido_assert_hmac_secret_ptr"},
        {(void **)&lib.secret_count, "fido_assert_hmac_secret_len"},
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (!(*names[index].function = dlsym(library, names[index].name))) state = CFIDO_NO_LIBRARY;
}

int cfido_load(void) {
    pthread_once(&once, load);
    // The setting is one of each thread. A key whose first answer is lost must not pass for an older one that knows
    // neither secrets nor PINs.
    if (!state) lib.init(DISABLE_U2F_FALLBACK);
    return state;
}

int cfido_find(void *context, void (*take)(void *, const char *, const char *, const char *)) {
    if (cfido_load()) return state;
    const size_t most = 64;
    size_t count = 0;
    devices *found = lib.devices_new(most);
    if (!found) return CFIDO_NO_MEMORY;
    int result = lib.manifest(found, most, &count);
    for (size_t index = 0; !result && index < count; index++) {
        const devices *one = lib.device_at(found, index);
        if (one && lib.path(one)) take(context, lib.path(one), lib.manufacturer(one), lib.product(one));
    }
    lib.devices_free(&found, most);
    return result;
}

static long milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// libfido2 returns the same error for a removed key and a silent one; only the elapsed time differs.
static int timed(int result, long start) {
    return result == ERR_RX && milliseconds() - start >= patience ? CFIDO_TIMED_OUT : result;
}

// libfido2 reports an internal error if a key is removed while keys are agreed on for the PIN or the secret.
static int outcome(device *device, int result, long start) {
    if (result != ERR_INTERNAL) return timed(result, start);
    information *known = lib.information_new();
    int reached = known ? lib.information(device, known) : 0;
    lib.information_free(&known);
    return reached < 0 ? reached : result;
}

cfido_key *cfido_open(const char *path, const cfido_transport *transport, int *error) {
    if ((*error = cfido_load())) return NULL;
    cfido_key *key = calloc(1, sizeof *key);
    *error = CFIDO_NO_MEMORY;
    if (!key) return NULL;
    if (!(key->device = lib.device_new())) {
        free(key);
        return NULL;
    }
    *error = transport ? lib.set_transport(key->device, transport) : 0;
    if (!*error) *error = lib.set_timeout(key->device, patience);
    long start = milliseconds();
    if (!*error) *error = timed(lib.open(key->device, path), start);
    if (!*error) return key;
    if (*error < 0) *error = CFIDO_UNANSWERED;
    lib.device_free(&key->device);
    free(key);
    return NULL;
}

void cfido_close(cfido_key *key) {
    lib.close(key->device);
    lib.device_free(&key->device);
    free(key);
}

static bool has_secrets(device *device) {
    information *known = lib.information_new();
    bool has = false;
    if (known && !lib.information(device, known)) {
        char **names = lib.extensions(known);
        for (size_t index = 0; names && index < lib.extension_count(known); index++)
            has |= !strcmp(names[index], "hmac-secret");
    }
    lib.information_free(&known);
    return has;
}

int cfido_features(cfido_key *key) {
    if (!lib.is_fido2(key->device)) return 0;
    return (has_secrets(key->device) ? CFIDO_SECRETS : 0) |
           (lib.has_protection(key->device) ? CFIDO_PROTECTION : 0) | (lib.has_pin(key->device) ? CFIDO_PIN : 0) |
           (lib.has_verification(key->device) ? CFIDO_VERIFICATION : 0);
}

int cfido_pin_tries(cfido_key *key, int *tries) { return lib.retries(key->device, tries); }

int cfido_begin_touch(cfido_key *key) { return lib.begin_touch(key->device); }

int cfido_is_touched(cfido_key *key, int *is_touched, int milliseconds) {
    return lib.touch(key->device, is_touched, milliseconds);
}

void cfido_cancel(cfido_key *key) { lib.cancel(key->device); }

// The hash that a signature would cover; no signature is checked.
static const unsigned char no_hash[32];

int cfido_make(cfido_key *key, const cfido_request *request, int is_protected, void *identifier, size_t *count) {
    static const unsigned char user[1] = {0};
    credential *made = lib.credential_new();
    if (!made) return CFIDO_NO_MEMORY;
    int result = lib.credential_type(made, ES256);
    if (!result) result = lib.credential_hash(made, no_hash, sizeof no_hash);
    if (!result) result = lib.credential_party(made, request->relying_party, "vault");
    if (!result) result = lib.credential_user(made, user, sizeof user, "vault", NULL, NULL);
    if (!result) result = lib.credential_extensions(made, HMAC_SECRET | (is_protected ? CRED_PROTECT : 0));
    if (!result && is_protected) result = lib.credential_protection(made, UV_REQUIRED);
    if (!result && request->verifies_itself) result = lib.credential_verification(made, OPT_TRUE);
    long start = milliseconds();
    if (!result) result = outcome(key->device, lib.make(key->device, made, request->pin), start);
    size_t length = result ? 0 : lib.identifier_count(made);
    if (!result && (length == 0 || length > *count)) result = ERR_INTERNAL;
    if (!result) {
        memcpy(identifier, lib.identifier(made), length);
        *count = length;
    }
    lib.credential_free(&made);
    return result;
}

// Begins an assertion of one credential.
static int begin(assertion *made, const cfido_request *request) {
    int result = lib.assertion_hash(made, no_hash, sizeof no_hash);
    if (!result) result = lib.assertion_party(made, request->relying_party);
    if (!result) result = lib.assertion_allow(made, request->identifier, request->identifier_count);
    return result;
}

int cfido_has(cfido_key *key, const cfido_request *request) {
    assertion *made = lib.assertion_new();
    if (!made) return CFIDO_NO_MEMORY;
    int result = begin(made, request);
    if (!result) result = lib.assertion_presence(made, OPT_FALSE);
    if (!result && request->verifies_itself) result = lib.assertion_verification(made, OPT_TRUE);
    long start = milliseconds();
    if (!result) result = outcome(key->device, lib.assert(key->device, made, request->pin), start);
    lib.assertion_free(&made);
    return result;
}

int cfido_secret(cfido_key *key, const cfido_request *request, const void *salt, void *secret) {
    assertion *made = lib.assertion_new();
    if (!made) return CFIDO_NO_MEMORY;
    int result = begin(made, request);
    if (!result) result = lib.assertion_extensions(made, HMAC_SECRET);
    if (!result) result = lib.assertion_salt(made, salt, 32);
    if (!result) result = lib.assertion_presence(made, OPT_TRUE);
    if (!result && request->verifies_itself) result = lib.assertion_verification(made, OPT_TRUE);
    long start = milliseconds();
    if (!result) result = outcome(key->device, lib.assert(key->device, made, request->pin), start);
    // A key may ignore the extension.
    if (!result && (lib.assertion_count(made) != 1 || lib.secret_count(made, 0) != 32)) result = ERR_UNSUPPORTED_OPTION;
    if (!result) memcpy(secret, lib.secret(made, 0), 32);
    // Wipes the secret before it frees it.
    lib.assertion_free(&made);
    return result;
}
