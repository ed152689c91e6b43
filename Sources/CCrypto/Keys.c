// SPDX-License-Identifier: Apache-2.0
// The functions of libcrypto by which versions 1.1 and 3 both take a key's numbers, and an ECDSA signature's as well:
// no DER is written or read.
#define _GNU_SOURCE
#include "CCryptoKeys.h"
#include "Library.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

typedef struct number number;
typedef struct number_context number_context;
typedef struct curve_key curve_key;
typedef struct curve curve;
typedef struct point point;
typedef struct pair pair;
typedef struct rsa rsa;

static struct {
    int (*hash)(const void *bytes, size_t count, unsigned char *output, unsigned int *length, const void *kind,
                void *engine);
    const void *(*sha256)(void);
    const void *(*sha384)(void);
    const void *(*sha512)(void);
    number *(*read_number)(const unsigned char *, int length, number *);
    int (*write_number)(const number *, unsigned char *, int length);
    void (*wipe_number)(number *);
    number *(*new_number)(void);
    int (*bits)(const number *);
    int (*is_odd)(const number *);
    int (*compare)(const number *, const number *);
    const number *(*one)(void);
    int (*subtract)(number *, const number *, const number *);
    int (*multiply)(number *, const number *, const number *, number_context *);
    int (*divide)(number *quotient, number *rest, const number *, const number *, number_context *);
    int (*multiply_modulo)(number *, const number *, const number *, const number *modulus, number_context *);
    void (*set_flags)(number *, int);
    number_context *(*new_context)(void);
    void (*free_context)(number_context *);
    curve_key *(*new_curve_key)(int curve);
    void (*free_curve_key)(curve_key *);
    const curve *(*curve_of)(const curve_key *);
    point *(*new_point)(const curve *);
    void (*free_point)(point *);
    int (*read_point)(const curve *, point *, const unsigned char *, size_t, number_context *);
    int (*set_point)(curve_key *, const point *);
    int (*set_private)(curve_key *, const number *);
    int (*check_curve_key)(const curve_key *);
    pair *(*ecdsa_sign)(const unsigned char *digest, int length, curve_key *);
    int (*ecdsa_verify)(const unsigned char *digest, int length, const pair *, curve_key *);
    pair *(*new_pair)(void);
    void (*free_pair)(pair *);
    void (*get_pair)(const pair *, const number **r, const number **s);
    int (*set_pair)(pair *, number *r, number *s);
    rsa *(*new_rsa)(void);
    void (*free_rsa)(rsa *);
    int (*set_key)(rsa *, number *n, number *e, number *d);
    int (*set_factors)(rsa *, number *p, number *q);
    int (*set_remainders)(rsa *, number *dmp1, number *dmq1, number *iqmp);
    int (*rsa_sign)(int hash, const unsigned char *digest, unsigned length, unsigned char *signature,
                    unsigned *signature_length, rsa *);
    int (*rsa_verify)(int hash, const unsigned char *digest, unsigned length, const unsigned char *signature,
                      unsigned signature_length, rsa *);
    void (*clear_errors)(void);
} lib;

static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.hash, "EVP_Digest"}, {(void **)&lib.sha256, "EVP_sha256"}, {(void **)&lib.sha384, "EVP_sha384"},
        {(void **)&lib.sha512, "EVP_sha512"}, {(void **)&lib.read_number, "BN_bin2bn"},
        {(void **)&lib.write_number, "BN_bn2binpad"}, {(void **)&lib.wipe_number, "BN_clear_free"},
        {(void **)&lib.new_number, "BN_new"}, {(void **)&lib.bits, "BN_num_bits"}, {(void **)&lib.is_odd, "BN_is_odd"},
        {(void **)&lib.compare, "BN_cmp"}, {(void **)&lib.one, "BN_value_one"}, {(void **)&lib.subtract, "BN_sub"},
        {(void **)&lib.multiply, "BN_mul"}, {(void **)&lib.divide, "BN_div"},
        {(void **)&lib.multiply_modulo, "BN_mod_mul"}, {(void **)&lib.set_flags, "BN_set_flags"},
        {(void **)&lib.new_context, "BN_CTX_secure_new"}, {(void **)&lib.free_context, "BN_CTX_free"},
        {(void **)&lib.new_curve_key, "EC_KEY_new_by_curve_name"}, {(void **)&lib.free_curve_key, "EC_KEY_free"},
        {(void **)&lib.curve_of, "EC_KEY_get0_group"}, {(void **)&lib.new_point, "EC_POINT_new"},
        {(void **)&lib.free_point, "EC_POINT_free"}, {(void **)&lib.read_point, "EC_POINT_oct2point"},
        {(void **)&lib.set_point, "EC_KEY_set_public_key"}, {(void **)&lib.set_private, "EC_KEY_set_private_key"},
        {(void **)&lib.check_curve_key, "EC_KEY_check_key"}, {(void **)&lib.ecdsa_sign, "ECDSA_do_sign"},
        {(void **)&lib.ecdsa_verify, "ECDSA_do_verify"}, {(void **)&lib.new_pair, "ECDSA_SIG_new"},
        {(void **)&lib.free_pair, "ECDSA_SIG_free"}, {(void **)&lib.get_pair, "ECDSA_SIG_get0"},
        {(void **)&lib.set_pair, "ECDSA_SIG_set0"}, {(void **)&lib.new_rsa, "RSA_new"},
        {(void **)&lib.free_rsa, "RSA_free"}, {(void **)&lib.set_key, "RSA_set0_key"},
        {(void **)&lib.set_factors, "RSA_set0_factors"}, {(void **)&lib.set_remainders, "RSA_set0_crt_params"},
        {(void **)&lib.rsa_sign, "RSA_sign"}, {(void **)&lib.rsa_verify, "RSA_verify"},
        {(void **)&lib.clear_errors, "ERR_clear_error"},
    };
    state = ccrypto_load(functions, sizeof functions / sizeof *functions);
}

static long ready(void) {
    pthread_once(&once, load);
    // What failed before left its reasons with the thread.
    if (!state) lib.clear_errors();
    return state;
}

// SHA-2 of a message: how many bytes it has.
static long digest(int hash, ccrypto_number message, unsigned char output[64]) {
    const void *kind = hash == 256 ? lib.sha256() : hash == 384 ? lib.sha384() : hash == 512 ? lib.sha512() : NULL;
    unsigned int length = 0;
    if (!kind) return -EINVAL;
    return lib.hash(message.bytes, message.count, output, &length, kind, NULL) == 1 ? (long)length : -ENOMEM;
}

static number *read_number(ccrypto_number from) {
    return from.count <= 4096 ? lib.read_number(from.bytes, (int)from.count, NULL) : NULL;
}

// A number of which no calculation is to take a time of its own. It holds BN_FLG_CONSTTIME.
static number *read_private(ccrypto_number from) {
    number *read = read_number(from);
    if (read) lib.set_flags(read, 0x04);
    return read;
}

// MARK: Curves

// libcrypto's numbers of prime256v1, secp384r1 and secp521r1.
static int curve_number(int bits) { return bits == 256 ? 415 : bits == 384 ? 715 : bits == 521 ? 716 : 0; }

static size_t curve_length(int bits) { return ((size_t)bits + 7) / 8; }

// NULL: it is no point of the curve's, or there is no memory.
static curve_key *curve_key_of(int bits, ccrypto_number encoded) {
    if (!curve_number(bits) || encoded.count != 1 + 2 * curve_length(bits)) return NULL;
    if (*(const unsigned char *)encoded.bytes != 4) return NULL;
    curve_key *key = lib.new_curve_key(curve_number(bits));
    point *place = key ? lib.new_point(lib.curve_of(key)) : NULL;
    // Reading it finds out whether it is on the curve.
    int done = place && lib.read_point(lib.curve_of(key), place, encoded.bytes, encoded.count, NULL) == 1 &&
               lib.set_point(key, place) == 1;
    lib.free_point(place);
    if (done) return key;
    lib.free_curve_key(key);
    return NULL;
}

// With the private number, which EC_KEY_free wipes.
static curve_key *private_curve_key(int bits, ccrypto_number encoded, ccrypto_number private) {
    if (private.count > curve_length(bits)) return NULL;
    curve_key *key = curve_key_of(bits, encoded);
    number *secret = key ? read_private(private) : NULL;
    int done = secret && lib.bits(secret) > 0 && lib.set_private(key, secret) == 1;
    lib.wipe_number(secret);
    if (done) return key;
    lib.free_curve_key(key);
    return NULL;
}

long ccrypto_ecdsa_check_point(int bits, ccrypto_number encoded) {
    long flaw = ready();
    if (flaw) return flaw;
    curve_key *key = curve_key_of(bits, encoded);
    flaw = key && lib.check_curve_key(key) == 1 ? 0 : -EINVAL;
    lib.free_curve_key(key);
    return flaw;
}

long ccrypto_ecdsa_check(int bits, ccrypto_number encoded, ccrypto_number private) {
    long flaw = ready();
    if (flaw) return flaw;
    curve_key *key = private_curve_key(bits, encoded, private);
    flaw = key && lib.check_curve_key(key) == 1 ? 0 : -EINVAL;
    lib.free_curve_key(key);
    return flaw;
}

long ccrypto_ecdsa_sign(int bits, ccrypto_number encoded, ccrypto_number private, int hash, ccrypto_number message,
                        void *signature) {
    unsigned char hashed[64];
    long flaw = ready(), length = flaw ? flaw : digest(hash, message, hashed);
    if (length < 0) return length;
    curve_key *key = private_curve_key(bits, encoded, private);
    pair *signed_ = key ? lib.ecdsa_sign(hashed, (int)length, key) : NULL;
    const number *r = NULL, *s = NULL;
    if (signed_) lib.get_pair(signed_, &r, &s);
    int size = (int)curve_length(bits);
    flaw = r && s && lib.write_number(r, signature, size) == size &&
                   lib.write_number(s, (unsigned char *)signature + size, size) == size
               ? 0
               : -EINVAL;
    lib.free_pair(signed_);
    lib.free_curve_key(key);
    return flaw;
}

long ccrypto_ecdsa_verify(int bits, ccrypto_number encoded, int hash, ccrypto_number message, const void *signature) {
    unsigned char hashed[64];
    long flaw = ready(), length = flaw ? flaw : digest(hash, message, hashed);
    if (length < 0) return length;
    curve_key *key = curve_key_of(bits, encoded);
    if (!key) return -EINVAL;
    size_t size = curve_length(bits);
    pair *signed_ = lib.new_pair();
    number *r = read_number((ccrypto_number){signature, size});
    number *s = read_number((ccrypto_number){(const unsigned char *)signature + size, size});
    flaw = -EBADMSG;
    if (signed_ && r && s && lib.set_pair(signed_, r, s) == 1) {
        // They are the pair's now.
        r = s = NULL;
        if (lib.ecdsa_verify(hashed, (int)length, signed_, key) == 1) flaw = 0;
    }
    lib.wipe_number(r);
    lib.wipe_number(s);
    lib.free_pair(signed_);
    lib.free_curve_key(key);
    return flaw;
}

// MARK: RSA

// libcrypto's numbers of SHA-256, SHA-384 and SHA-512.
static int hash_number(int hash) { return hash == 256 ? 672 : hash == 384 ? 673 : 674; }

static int is_public(const number *n, const number *e) {
    return lib.bits(n) >= 2048 && lib.bits(n) <= 16384 && lib.is_odd(n) && lib.is_odd(e) && lib.bits(e) > 1 &&
           lib.bits(e) <= 64;
}

// NULL: the numbers are no key's, or there is no memory.
static rsa *public_rsa(ccrypto_rsa from) {
    number *n = read_number(from.n), *e = read_number(from.e);
    rsa *key = n && e && is_public(n, e) ? lib.new_rsa() : NULL;
    if (key && lib.set_key(key, n, e, NULL) == 1) return key;
    lib.free_rsa(key);
    lib.wipe_number(n);
    lib.wipe_number(e);
    return NULL;
}

// The rest of d by p - 1.
static number *remainder_of(const number *d, const number *factor, number_context *context) {
    number *less = lib.new_number(), *rest = lib.new_number();
    int done = less && rest && lib.subtract(less, factor, lib.one()) == 1;
    if (done) {
        lib.set_flags(less, 0x04);
        lib.set_flags(rest, 0x04);
        done = lib.divide(NULL, rest, d, less, context) == 1;
    }
    lib.wipe_number(less);
    if (done) return rest;
    lib.wipe_number(rest);
    return NULL;
}

// Whether p times q is n, and iqmp times q is 1 modulo p. Whether d fits to them says the first signature.
static int fit(const number *n, const number *iqmp, const number *p, const number *q, number_context *context) {
    number *product = lib.new_number();
    int done = product && lib.bits(p) > 1 && lib.bits(q) > 1 && lib.is_odd(p) && lib.is_odd(q) &&
               lib.compare(p, q) != 0 && lib.multiply(product, p, q, context) == 1 && lib.compare(product, n) == 0 &&
               lib.compare(iqmp, p) < 0 && lib.multiply_modulo(product, iqmp, q, p, context) == 1 &&
               lib.compare(product, lib.one()) == 0;
    lib.wipe_number(product);
    return done;
}

// With the private numbers, which RSA_free wipes.
static rsa *private_rsa(ccrypto_rsa from) {
    number *n = read_number(from.n), *e = read_number(from.e), *d = read_private(from.d);
    number *iqmp = read_private(from.iqmp), *p = read_private(from.p), *q = read_private(from.q);
    number *dmp1 = NULL, *dmq1 = NULL;
    number_context *context = lib.new_context();
    rsa *key = NULL;
    int done = n && e && d && iqmp && p && q && context && is_public(n, e) && lib.bits(d) > 1 &&
               lib.compare(d, n) < 0 && fit(n, iqmp, p, q, context) && (dmp1 = remainder_of(d, p, context)) &&
               (dmq1 = remainder_of(d, q, context)) && (key = lib.new_rsa());
    // What was taken over is the key's.
    if (done && (done = lib.set_key(key, n, e, d) == 1)) n = e = d = NULL;
    if (done && (done = lib.set_factors(key, p, q) == 1)) p = q = NULL;
    if (done && (done = lib.set_remainders(key, dmp1, dmq1, iqmp) == 1)) dmp1 = dmq1 = iqmp = NULL;
    number *left[] = {n, e, d, iqmp, p, q, dmp1, dmq1};
    for (size_t index = 0; index < sizeof left / sizeof *left; index++) lib.wipe_number(left[index]);
    lib.free_context(context);
    if (done) return key;
    lib.free_rsa(key);
    return NULL;
}

long ccrypto_rsa_check_public(ccrypto_rsa from) {
    long flaw = ready();
    if (flaw) return flaw;
    rsa *key = public_rsa(from);
    lib.free_rsa(key);
    return key ? 0 : -EINVAL;
}

long ccrypto_rsa_check(ccrypto_rsa from) {
    static const char message[] = "a message to try a key with";
    unsigned char signature[2048];
    return ccrypto_rsa_sign(from, 256, (ccrypto_number){message, sizeof message}, signature, sizeof signature);
}

long ccrypto_rsa_sign(ccrypto_rsa from, int hash, ccrypto_number message, void *signature, size_t room) {
    unsigned char hashed[64];
    long flaw = ready(), length = flaw ? flaw : digest(hash, message, hashed);
    if (length < 0) return length;
    if (room < from.n.count) return -EINVAL;
    rsa *key = private_rsa(from);
    unsigned written = 0;
    flaw = -EINVAL;
    if (key && lib.rsa_sign(hash_number(hash), hashed, (unsigned)length, signature, &written, key) == 1 &&
        written == from.n.count) {
        flaw = 0;
        // A wrong one, by wrong numbers or a fault, tells the factors.
        if (lib.rsa_verify(hash_number(hash), hashed, (unsigned)length, signature, written, key) != 1) {
            memset(signature, 0, written);
            flaw = -EINVAL;
        }
    }
    lib.free_rsa(key);
    return flaw;
}

long ccrypto_rsa_verify(ccrypto_rsa from, int hash, ccrypto_number message, ccrypto_number signature) {
    unsigned char hashed[64];
    long flaw = ready(), length = flaw ? flaw : digest(hash, message, hashed);
    if (length < 0) return length;
    rsa *key = public_rsa(from);
    if (!key) return -EINVAL;
    int right = signature.count == from.n.count &&
                lib.rsa_verify(hash_number(hash), hashed, (unsigned)length, signature.bytes, (unsigned)signature.count,
                               key) == 1;
    lib.free_rsa(key);
    return right ? 0 : -EBADMSG;
}
