// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CCryptoTrust.h"
#include "CCryptoContext.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct certificate certificate;
typedef struct stack stack;
typedef struct store store;
typedef struct lookup lookup;
typedef struct verification verification;
typedef struct parameters parameters;

static struct {
    certificate *(*new_certificate)(ccrypto_context *, const char *properties);
    certificate *(*read_certificate)(certificate **, const unsigned char **, long);
    int (*write_certificate)(const certificate *, unsigned char **);
    void (*free_certificate)(certificate *);
    void (*free_memory)(void *, const char *file, int line);
    stack *(*new_stack)(void);
    int (*push)(stack *, const void *);
    int (*count)(const stack *);
    void *(*element)(const stack *, int);
    void (*free_stack)(stack *);
    store *(*new_store)(void);
    void (*free_store)(store *);
    stack *(*certificates_of)(store *);
    lookup *(*add_lookup)(store *, void *method);
    void *(*directory_method)(void);
    void *(*file_method)(void);
    int (*control_lookup)(lookup *, int command, const char *argument, long kind, char **result, ccrypto_context *,
                          const char *properties);
    verification *(*new_verification)(ccrypto_context *, const char *properties);
    void (*free_verification)(verification *);
    int (*start)(verification *, store *, certificate *judged, stack *others);
    void (*trust)(verification *, stack *);
    int (*set_purpose)(verification *, int);
    int (*set_data)(verification *, int index, void *);
    void *(*data)(const verification *, int index);
    void (*set_callback)(verification *, int (*)(int, verification *));
    int (*verify)(verification *);
    int (*error)(const verification *);
    int (*error_depth)(const verification *);
    stack *(*chain)(const verification *);
    int (*count_untrusted)(const verification *);
    parameters *(*parameters_of)(verification *);
    int (*set_flags)(parameters *, unsigned long);
    void (*set_time)(parameters *, time_t);
    void (*set_level)(parameters *, int);
    void (*set_host_flags)(parameters *, unsigned);
    int (*set_host)(parameters *, const char *, size_t);
    int (*set_address)(parameters *, const char *);
} lib;

// The certificates of the default file, which is read once.
static stack *file_anchors;
static pthread_once_t once = PTHREAD_ONCE_INIT, file_once = PTHREAD_ONCE_INIT;
static long state;
static ccrypto_context *context;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.new_certificate, "X509_new_ex"}, {(void **)&lib.read_certificate, "d2i_X509"},
        {(void **)&lib.write_certificate, "i2d_X509"}, {(void **)&lib.free_certificate, "X509_free"},
        {(void **)&lib.free_memory, "CRYPTO_free"}, {(void **)&lib.new_stack, "OPENSSL_sk_new_null"},
        {(void **)&lib.push, "OPENSSL_sk_push"}, {(void **)&lib.count, "OPENSSL_sk_num"},
        {(void **)&lib.element, "OPENSSL_sk_value"}, {(void **)&lib.free_stack, "OPENSSL_sk_free"},
        {(void **)&lib.new_store, "X509_STORE_new"}, {(void **)&lib.free_store, "X509_STORE_free"},
        {(void **)&lib.certificates_of, "X509_STORE_get1_all_certs"},
        {(void **)&lib.add_lookup, "X509_STORE_add_lookup"}, {(void **)&lib.directory_method, "X509_LOOKUP_hash_dir"},
        {(void **)&lib.file_method, "X509_LOOKUP_file"}, {(void **)&lib.control_lookup, "X509_LOOKUP_ctrl_ex"},
        {(void **)&lib.new_verification, "X509_STORE_CTX_new_ex"},
        {(void **)&lib.free_verification, "X509_STORE_CTX_free"}, {(void **)&lib.start, "X509_STORE_CTX_init"},
        {(void **)&lib.trust, "X509_STORE_CTX_set0_trusted_stack"},
        {(void **)&lib.set_purpose, "X509_STORE_CTX_set_purpose"},
        {(void **)&lib.set_data, "X509_STORE_CTX_set_ex_data"}, {(void **)&lib.data, "X509_STORE_CTX_get_ex_data"},
        {(void **)&lib.set_callback, "X509_STORE_CTX_set_verify_cb"}, {(void **)&lib.verify, "X509_verify_cert"},
        {(void **)&lib.error, "X509_STORE_CTX_get_error"},
        {(void **)&lib.error_depth, "X509_STORE_CTX_get_error_depth"},
        {(void **)&lib.chain, "X509_STORE_CTX_get0_chain"},
        {(void **)&lib.count_untrusted, "X509_STORE_CTX_get_num_untrusted"},
        {(void **)&lib.parameters_of, "X509_STORE_CTX_get0_param"},
        {(void **)&lib.set_flags, "X509_VERIFY_PARAM_set_flags"},
        {(void **)&lib.set_time, "X509_VERIFY_PARAM_set_time"},
        {(void **)&lib.set_level, "X509_VERIFY_PARAM_set_auth_level"},
        {(void **)&lib.set_host_flags, "X509_VERIFY_PARAM_set_hostflags"},
        {(void **)&lib.set_host, "X509_VERIFY_PARAM_set1_host"},
        {(void **)&lib.set_address, "X509_VERIFY_PARAM_set1_ip_asc"},
    };
    state = ccrypto_get_context(&context);
    if (!state) state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
}

// MARK: Anchors

// X509_L_FILE_LOAD and X509_L_ADD_DIR, with X509_FILETYPE_DEFAULT: the library's own place, or that of the environment,
// which is ignored if the program has more rights than its caller.
enum { load_file = 1, add_directory = 2, default_place = 3 };

static void read_file_anchors(void) {
    store *from = lib.new_store();
    lookup *file = from ? lib.add_lookup(from, lib.file_method()) : NULL;
    if (file && lib.control_lookup(file, load_file, NULL, default_place, NULL, context, NULL) == 1)
        file_anchors = lib.certificates_of(from);
    lib.free_store(from);
}

// A store that finds an issuer by the hash of its name, among the files of the default directory.
static store *directory_store(void) {
    store *made = lib.new_store();
    lookup *directory = made ? lib.add_lookup(made, lib.directory_method()) : NULL;
    if (directory && lib.control_lookup(directory, add_directory, NULL, default_place, NULL, context, NULL) == 1)
        return made;
    lib.free_store(made);
    return NULL;
}

// MARK: Verification

enum { most_certificates = 100, most_anchors = 10000, most_bytes = 1 << 20, most_errors = 256 };

// The errors of one verification, without duplicates.
struct findings {
    struct { int code, depth; } errors[most_errors];
    size_t count;
};

static void note(struct findings *found, int code, int depth) {
    for (size_t index = 0; index < found->count; index++)
        if (found->errors[index].code == code && found->errors[index].depth == depth) return;
    if (found->count == most_errors) return;
    found->errors[found->count].code = code;
    found->errors[found->count++].depth = depth;
}

// Records an error and continues, so that all errors are found.
static int collect(int is_right, verification *of) {
    if (!is_right) note(lib.data(of, 0), lib.error(of), lib.error_depth(of));
    return 1;
}

// X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, _DEPTH_ZERO_SELF_SIGNED_CERT, _SELF_SIGNED_CERT_IN_CHAIN,
// _UNABLE_TO_GET_ISSUER_CERT_LOCALLY and _UNABLE_TO_VERIFY_LEAF_SIGNATURE: another anchor might help.
static int lacks_anchor(const struct findings *found) {
    for (size_t index = 0; index < found->count; index++) {
        int code = found->errors[index].code;
        if (code == 2 || (code >= 18 && code <= 21)) return 1;
    }
    return 0;
}

// Sets the host to check; returns 0 for an invalid name, such as those that libcrypto would take for "any name" or "any
// name below this one".
static int set_host(parameters *of, ccrypto_number host) {
    char text[256];
    if (host.count == 0 || host.count >= sizeof text || memchr(host.bytes, 0, host.count)) return 0;
    memcpy(text, host.bytes, host.count);
    text[host.count] = 0;
    if (lib.set_address(of, text) == 1) return 1;
    // A trailing dot marks a fully qualified name; certificates omit it.
    size_t length = text[host.count - 1] == '.' ? host.count - 1 : host.count;
    return length > 0 && text[0] != '.' && lib.set_host(of, text, length) == 1;
}

// X509_V_FLAG_TRUSTED_FIRST and X509_V_FLAG_PARTIAL_CHAIN; X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS and
// X509_CHECK_FLAG_NEVER_CHECK_SUBJECT.
enum { chain_flags = 0x8000 | 0x80000, host_flags = 0x4 | 0x20, hostname_mismatch = 62 };

// Verifies with the anchors of a stack, or else of a store.
static long verify_by(const ccrypto_trust_request *request, certificate *judged, stack *others, stack *anchors,
                      store *from, struct findings *found, verification **output) {
    verification *made = *output = lib.new_verification(context, NULL);
    found->count = 0;
    if (!made || lib.start(made, from, judged, others) != 1 || lib.set_data(made, 0, found) != 1) return -ENOMEM;
    if (!from) lib.trust(made, anchors);
    parameters *rules = lib.parameters_of(made);
    if (lib.set_flags(rules, chain_flags) != 1) return -ENOMEM;
    if (request->purpose && lib.set_purpose(made, request->purpose) != 1) return -EINVAL;
    lib.set_time(rules, (time_t)request->time);
    lib.set_level(rules, request->level);
    lib.set_host_flags(rules, host_flags);
    int has_name = !request->checks_host || set_host(rules, request->host);
    lib.set_callback(made, collect);
    int is_right = lib.verify(made) == 1;
    if (!has_name) note(found, hostname_mismatch, 0);
    // An error that did not reach the callback.
    if (!is_right && found->count == 0) note(found, lib.error(made) ? lib.error(made) : 1, 0);
    return 0;
}

static long verify(const ccrypto_trust_request *request, certificate *judged, stack *others, stack *anchors,
                   store *from, struct findings *found, verification **output) {
    long flaw = verify_by(request, judged, others, anchors, from, found, output);
    // The evaluated certificate is itself an anchor, so errors of the certificates above it do not count.
    if (!flaw && others && lib.count_untrusted(*output) == 0 && lib.count(lib.chain(*output)) > 1) {
        lib.free_verification(*output);
        flaw = verify_by(request, judged, NULL, anchors, from, found, output);
    }
    return flaw;
}

static certificate *read_certificate(ccrypto_number from) {
    const unsigned char *place = from.bytes;
    if (from.count > most_bytes) return NULL;
    certificate *made = lib.new_certificate(context, NULL);
    if (made && lib.read_certificate(&made, &place, (long)from.count) &&
        place == (const unsigned char *)from.bytes + from.count)
        return made;
    lib.free_certificate(made);
    return NULL;
}

static void release(stack *of) {
    for (int index = 0; of && index < lib.count(of); index++) lib.free_certificate(lib.element(of, index));
    lib.free_stack(of);
}

// The readable certificates.
static stack *read_all(const ccrypto_number *from, size_t count) {
    stack *made = lib.new_stack();
    for (size_t index = 0; made && index < count; index++) {
        certificate *next = read_certificate(from[index]);
        if (next && lib.push(made, next) <= 0) lib.free_certificate(next);
    }
    return made;
}

static void tell(const verification *of, const struct findings *found, ccrypto_trust_visitor visitor) {
    for (size_t index = 0; index < found->count; index++)
        visitor.error(visitor.state, found->errors[index].code, found->errors[index].depth);
    stack *chain = lib.chain(of);
    for (int index = 0; chain && index < lib.count(chain); index++) {
        unsigned char *bytes = NULL;
        int count = lib.write_certificate(lib.element(chain, index), &bytes);
        if (count <= 0) break;
        visitor.certificate(visitor.state, (ccrypto_number){bytes, (size_t)count});
        lib.free_memory(bytes, __FILE__, __LINE__);
    }
}

// The caller's anchors come first. A chain ends at the first anchor on its way, so those of the directory and of the
// file can be tried separately, and are read only if needed.
static long judge(const ccrypto_trust_request *request, certificate *judged, stack *others, stack *anchors,
                  ccrypto_trust_visitor visitor) {
    struct findings found;
    verification *made = NULL;
    store *directory = NULL;
    long flaw = verify(request, judged, others, anchors, NULL, &found, &made);
    if (!flaw && request->trusts_system && lacks_anchor(&found) && (directory = directory_store())) {
        lib.free_verification(made);
        flaw = verify(request, judged, others, NULL, directory, &found, &made);
    }
    if (!flaw && request->trusts_system && lacks_anchor(&found)) {
        pthread_once(&file_once, read_file_anchors);
        if (file_anchors) {
            lib.free_verification(made);
            flaw = verify(request, judged, others, file_anchors, NULL, &found, &made);
        }
    }
    if (!flaw) tell(made, &found, visitor);
    lib.free_verification(made);
    lib.free_store(directory);
    return flaw;
}

long ccrypto_trust_evaluate(const ccrypto_trust_request *request, ccrypto_trust_visitor visitor) {
    pthread_once(&once, load);
    if (state) return state;
    if (request->certificate_count < 1 || request->certificate_count > most_certificates ||
        request->anchor_count > most_anchors || request->level < 1 || request->level > 2 || request->purpose < 0 ||
        request->purpose > 2)
        return -EINVAL;
    ccrypto_mark_errors();
    long flaw = -EBADMSG;
    certificate *judged = read_certificate(request->certificates[0]);
    if (judged) {
        stack *others = read_all(request->certificates + 1, request->certificate_count - 1);
        stack *anchors = read_all(request->anchors, request->anchor_count);
        flaw = others && anchors ? judge(request, judged, others, anchors, visitor) : -ENOMEM;
        release(others);
        release(anchors);
    }
    lib.free_certificate(judged);
    ccrypto_forget_errors();
    return flaw;
}
