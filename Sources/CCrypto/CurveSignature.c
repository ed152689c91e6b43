// SPDX-License-Identifier: Apache-2.0
// ECDSA with a key that is loaded for one signature. EVP builds the key's curve again for every key, which takes longer
// than the signature: 31 of 55 microseconds with P-256. Here a process builds each curve once. The curve is not secret.
#include "Asymmetric.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

typedef struct group group;
typedef struct curve_key curve_key;
typedef struct number number;

static struct {
    group *(*new_group)(ccrypto_context *, const char *properties, int curve);
    void (*free_group)(group *);
    curve_key *(*new_key)(ccrypto_context *, const char *properties);
    void (*free_key)(curve_key *);
    int (*set_group)(curve_key *, const group *);
    int (*set_private)(curve_key *, const number *);
    number *(*read)(const unsigned char *little_endian, int length, number *);
    void (*wipe)(number *);
    void (*set_flags)(number *, int);
    int (*size)(const curve_key *);
    int (*sign)(int, const unsigned char *digest, int length, unsigned char *signature, unsigned *size, curve_key *);
} lib;

static const struct {
    // The bits, and libcrypto's number: prime256v1, secp384r1 and secp521r1.
    int bits, number;
} curves[] = {{256, 415}, {384, 715}, {521, 716}};

enum { curve_count = sizeof curves / sizeof *curves };

static _Atomic(group *) groups[curve_count];
static ccrypto_context *context;
static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.new_group, "EC_GROUP_new_by_curve_name_ex"}, {(void **)&lib.free_group, "EC_GROUP_free"},
        {(void **)&lib.new_key, "EC_KEY_new_ex"}, {(void **)&lib.free_key, "EC_KEY_free"},
        {(void **)&lib.set_group, "EC_KEY_set_group"}, {(void **)&lib.set_private, "EC_KEY_set_private_key"},
        {(void **)&lib.read, "BN_lebin2bn"}, {(void **)&lib.wipe, "BN_clear_free"},
        {(void **)&lib.set_flags, "BN_set_flags"}, {(void **)&lib.size, "ECDSA_size"},
        {(void **)&lib.sign, "ECDSA_sign"},
    };
    state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
    if (!state) state = ccrypto_get_context(&context);
}

// NULL if there is no such curve or no memory.
static const group *group_of(int bits) {
    for (int index = 0; index < curve_count; index++) {
        if (curves[index].bits != bits) continue;
        group *known = atomic_load(&groups[index]);
        if (known) return known;
        group *made = lib.new_group(context, NULL, curves[index].number);
        // Another thread may have been first.
        if (!made || atomic_compare_exchange_strong(&groups[index], &known, made)) return made;
        lib.free_group(made);
        return known;
    }
    return NULL;
}

// Loads a key with the private number only, which EC_KEY_free wipes.
static curve_key *load_key(int bits, ccrypto_number private) {
    const group *curve = group_of(bits);
    curve_key *key = curve ? lib.new_key(context, NULL) : NULL;
    number *secret = key && private.count <= 66 ? lib.read(private.bytes, (int)private.count, NULL) : NULL;
    // BN_FLG_CONSTTIME.
    if (secret) lib.set_flags(secret, 0x04);
    int done = secret && lib.set_group(key, curve) == 1 && lib.set_private(key, secret) == 1;
    lib.wipe(secret);
    if (done) return key;
    lib.free_key(key);
    return NULL;
}

long ccrypto_curve_sign(const ccrypto_key *key, ccrypto_number digest, void *signature, size_t room) {
    pthread_once(&once, load);
    if (state) return state;
    if (key->count != 2 || digest.count > INT_MAX) return -EINVAL;
    curve_key *loaded = load_key(key->curve, key->numbers[1]);
    unsigned size = 0;
    int done = loaded && room >= (size_t)lib.size(loaded) &&
               lib.sign(0, digest.bytes, (int)digest.count, signature, &size, loaded) == 1;
    lib.free_key(loaded);
    return done ? (long)size : -EINVAL;
}
