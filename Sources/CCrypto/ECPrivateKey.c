// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "ECPrivateKey.h"
#include "Element.h"
#include <errno.h>
#include <pthread.h>

typedef struct number number;
typedef struct curve curve;
typedef struct point point;

static struct {
    number *(*read_number)(const unsigned char *, int length, number *);
    int (*write_number)(const number *, unsigned char *, int length);
    void (*wipe_number)(number *);
    void (*set_flags)(number *, int);
    int (*compare)(const number *, const number *);
    curve *(*new_curve)(ccrypto_context *, const char *properties, int name);
    void (*free_curve)(curve *);
    const number *(*order_of)(const curve *);
    point *(*new_point)(const curve *);
    void (*free_point)(point *);
    int (*multiply)(const curve *, point *, const number *, const point *, const number *, void *numbers);
    size_t (*write_point)(const curve *, const point *, int form, unsigned char *, size_t, void *numbers);
} lib;

static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.read_number, "BN_bin2bn"}, {(void **)&lib.write_number, "BN_bn2binpad"},
        {(void **)&lib.wipe_number, "BN_clear_free"}, {(void **)&lib.set_flags, "BN_set_flags"},
        {(void **)&lib.compare, "BN_cmp"}, {(void **)&lib.new_curve, "EC_GROUP_new_by_curve_name_ex"},
        {(void **)&lib.free_curve, "EC_GROUP_free"}, {(void **)&lib.order_of, "EC_GROUP_get0_order"},
        {(void **)&lib.new_point, "EC_POINT_new"}, {(void **)&lib.free_point, "EC_POINT_free"},
        {(void **)&lib.multiply, "EC_POINT_mul"}, {(void **)&lib.write_point, "EC_POINT_point2oct"},
    };
    state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
}

// The private number of an ECPrivateKey (RFC 5915). Its point is computed from it, since files may omit the point.
static ccrypto_number private_number(ccrypto_number encoded) {
    ccrypto_number inner = ccrypto_take(&encoded, 0x30), version = ccrypto_take(&inner, 0x02);
    if (version.count != 1 || *(const unsigned char *)version.bytes != 1) return (ccrypto_number){NULL, 0};
    ccrypto_number found = ccrypto_take(&inner, 0x04);
    while (found.count && *(const unsigned char *)found.bytes == 0)
        found = (ccrypto_number){(const unsigned char *)found.bytes + 1, found.count - 1};
    return found;
}

// Writes 4, x, y and the private number. -EBADMSG if the number is 0 or not below the order.
static long complete(ccrypto_context *context, int name, size_t size, ccrypto_number from, unsigned char *output) {
    if (from.count == 0 || from.count > size) return -EBADMSG;
    long written = -EBADMSG;
    curve *of = lib.new_curve(context, NULL, name);
    point *place = of ? lib.new_point(of) : NULL;
    number *secret = place ? lib.read_number(from.bytes, (int)from.count, NULL) : NULL;
    if (secret) {
        // BN_FLG_CONSTTIME
        lib.set_flags(secret, 0x04);
        if (lib.compare(secret, lib.order_of(of)) < 0 && lib.multiply(of, place, secret, NULL, NULL, NULL) == 1 &&
            lib.write_point(of, place, 4, output, 1 + 2 * size, NULL) == 1 + 2 * size &&
            lib.write_number(secret, output + 1 + 2 * size, (int)size) == (int)size)
            written = (long)(1 + 3 * size);
    }
    lib.wipe_number(secret);
    lib.free_point(place);
    lib.free_curve(of);
    return written;
}

long ccrypto_write_curve_key(ccrypto_context *context, int name, ccrypto_number encoded, unsigned char *output) {
    pthread_once(&once, load);
    if (state) return state;
    // libcrypto's numbers of prime256v1, secp384r1 and secp521r1.
    size_t size = name == 415 ? 32 : name == 715 ? 48 : name == 716 ? 66 : 0;
    if (!size) return -ENOTSUP;
    return complete(context, name, size, private_number(encoded), output);
}

long ccrypto_p256_complete(ccrypto_number private, void *output) {
    pthread_once(&once, load);
    if (state) return state;
    ccrypto_context *context = NULL;
    long flaw = ccrypto_get_context(&context);
    if (flaw) return flaw;
    ccrypto_mark_errors();
    long result = complete(context, 415, 32, private, output);
    ccrypto_forget_errors();
    return result;
}
