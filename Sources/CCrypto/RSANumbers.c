// SPDX-License-Identifier: Apache-2.0
// The numbers that formats omit from a private RSA key, since they follow from the rest.
#include "CCryptoAsymmetric.h"
#include "CCryptoContext.h"
#include <errno.h>
#include <pthread.h>

typedef struct number number;
typedef struct number_context number_context;

static struct {
    number *(*read)(const unsigned char *, int length, number *);
    int (*write)(const number *, unsigned char *, int length);
    number *(*make)(void);
    void (*wipe)(number *);
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
} lib;

static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.read, "BN_bin2bn"}, {(void **)&lib.write, "BN_bn2binpad"}, {(void **)&lib.make, "BN_new"},
        {(void **)&lib.wipe, "BN_clear_free"}, {(void **)&lib.bits, "BN_num_bits"},
        {(void **)&lib.is_odd, "BN_is_odd"}, {(void **)&lib.compare, "BN_cmp"}, {(void **)&lib.one, "BN_value_one"},
        {(void **)&lib.subtract, "BN_sub"}, {(void **)&lib.multiply, "BN_mul"}, {(void **)&lib.divide, "BN_div"},
        {(void **)&lib.multiply_modulo, "BN_mod_mul"}, {(void **)&lib.set_flags, "BN_set_flags"},
        {(void **)&lib.new_context, "BN_CTX_secure_new"}, {(void **)&lib.free_context, "BN_CTX_free"},
    };
    state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
}

// Marks a number for constant-time calculation: BN_FLG_CONSTTIME.
static number *keep_secret(number *value) {
    if (value) lib.set_flags(value, 0x04);
    return value;
}

static number *read(ccrypto_number from) {
    return from.count <= 4096 ? keep_secret(lib.read(from.bytes, (int)from.count, NULL)) : NULL;
}

// Whether p times q is n, and qInv times q is 1 modulo p.
static int fit(const number *n, const number *p, const number *q, const number *inverse, number_context *context) {
    number *product = lib.make();
    int done = product && lib.bits(p) > 1 && lib.bits(q) > 1 && lib.is_odd(p) && lib.is_odd(q) &&
               lib.compare(p, q) != 0 && lib.multiply(product, p, q, context) == 1 && lib.compare(product, n) == 0 &&
               lib.compare(inverse, p) < 0 && lib.multiply_modulo(product, inverse, q, p, context) == 1 &&
               lib.compare(product, lib.one()) == 0;
    lib.wipe(product);
    return done;
}

// Writes d modulo p - 1, as long as p.
static int write_exponent(const number *d, const number *p, ccrypto_number length_of, void *output,
                          number_context *context) {
    number *less = keep_secret(lib.make()), *rest = keep_secret(lib.make());
    int length = (int)length_of.count;
    int done = less && rest && lib.subtract(less, p, lib.one()) == 1 &&
               lib.divide(NULL, rest, d, less, context) == 1 && lib.write(rest, output, length) == length;
    lib.wipe(less);
    lib.wipe(rest);
    return done;
}

long ccrypto_rsa_exponents(const ccrypto_rsa_factors *from, void *dp, void *dq) {
    pthread_once(&once, load);
    if (state) return state;
    ccrypto_context *any;
    long flaw = ccrypto_get_context(&any);
    if (flaw) return flaw;
    ccrypto_mark_errors();
    number *n = read(from->n), *d = read(from->d), *p = read(from->p), *q = read(from->q);
    number *inverse = read(from->q_inverse);
    number_context *context = lib.new_context();
    int done = n && d && p && q && inverse && context && lib.bits(d) > 1 && lib.compare(d, n) < 0 &&
               fit(n, p, q, inverse, context) && write_exponent(d, p, from->p, dp, context) &&
               write_exponent(d, q, from->q, dq, context);
    number *all[] = {n, d, p, q, inverse};
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) lib.wipe(all[index]);
    lib.free_context(context);
    ccrypto_forget_errors();
    return done ? 0 : -EINVAL;
}
