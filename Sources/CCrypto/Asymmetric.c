// SPDX-License-Identifier: Apache-2.0
#include "CCryptoAsymmetric.h"
#include "Asymmetric.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

typedef struct pkey pkey;
typedef struct operation operation;
typedef struct number number;

// OSSL_PARAM, and the types of it in use.
typedef struct {
    const char *name;
    unsigned type;
    void *data;
    size_t size, returned;
} parameter;

enum { type_integer = 1, type_unsigned = 2, type_text = 4, type_bytes = 5 };

// The selections of EVP_PKEY_fromdata: parameters with the public key, and with both.
enum { select_public = 0x86, select_pair = 0x87 };

static struct {
    operation *(*new_from_name)(ccrypto_context *, const char *name, const char *properties);
    operation *(*new_from_key)(ccrypto_context *, pkey *, const char *properties);
    void (*free_operation)(operation *);
    void (*free_key)(pkey *);
    int (*init_read)(operation *);
    int (*read)(operation *, pkey **, int selection, parameter *);
    int (*init_generate)(operation *);
    int (*set)(operation *, const parameter *);
    int (*generate)(operation *, pkey **);
    int (*get_number)(const pkey *, const char *name, number **);
    int (*write_number)(const number *, unsigned char *, int length);
    void (*wipe_number)(number *);
    int (*check_pair)(operation *);
    int (*check_private)(operation *);
    int (*init_sign)(operation *, const parameter *);
    int (*sign)(operation *, unsigned char *, size_t *, const unsigned char *, size_t);
    int (*init_verify)(operation *, const parameter *);
    int (*verify)(operation *, const unsigned char *, size_t, const unsigned char *, size_t);
    int (*init_recover)(operation *, const parameter *);
    int (*recover)(operation *, unsigned char *, size_t *, const unsigned char *, size_t);
    int (*init_encrypt)(operation *, const parameter *);
    int (*encrypt)(operation *, unsigned char *, size_t *, const unsigned char *, size_t);
    int (*init_decrypt)(operation *, const parameter *);
    int (*decrypt)(operation *, unsigned char *, size_t *, const unsigned char *, size_t);
    int (*init_derive)(operation *, const parameter *);
    int (*set_peer)(operation *, pkey *);
    int (*derive)(operation *, unsigned char *, size_t *);
} lib;

static ccrypto_context *context;
static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.new_from_name, "EVP_PKEY_CTX_new_from_name"},
        {(void **)&lib.new_from_key, "EVP_PKEY_CTX_new_from_pkey"},
        {(void **)&lib.free_operation, "EVP_PKEY_CTX_free"}, {(void **)&lib.free_key, "EVP_PKEY_free"},
        {(void **)&lib.init_read, "EVP_PKEY_fromdata_init"}, {(void **)&lib.read, "EVP_PKEY_fromdata"},
        {(void **)&lib.init_generate, "EVP_PKEY_keygen_init"}, {(void **)&lib.set, "EVP_PKEY_CTX_set_params"},
        {(void **)&lib.generate, "EVP_PKEY_generate"}, {(void **)&lib.get_number, "EVP_PKEY_get_bn_param"},
        {(void **)&lib.write_number, "BN_bn2binpad"}, {(void **)&lib.wipe_number, "BN_clear_free"},
        {(void **)&lib.check_pair, "EVP_PKEY_pairwise_check"},
        {(void **)&lib.check_private, "EVP_PKEY_private_check"}, {(void **)&lib.init_sign, "EVP_PKEY_sign_init_ex"},
        {(void **)&lib.sign, "EVP_PKEY_sign"}, {(void **)&lib.init_verify, "EVP_PKEY_verify_init_ex"},
        {(void **)&lib.verify, "EVP_PKEY_verify"}, {(void **)&lib.init_recover, "EVP_PKEY_verify_recover_init_ex"},
        {(void **)&lib.recover, "EVP_PKEY_verify_recover"}, {(void **)&lib.init_encrypt, "EVP_PKEY_encrypt_init_ex"},
        {(void **)&lib.encrypt, "EVP_PKEY_encrypt"}, {(void **)&lib.init_decrypt, "EVP_PKEY_decrypt_init_ex"},
        {(void **)&lib.decrypt, "EVP_PKEY_decrypt"}, {(void **)&lib.init_derive, "EVP_PKEY_derive_init_ex"},
        {(void **)&lib.set_peer, "EVP_PKEY_derive_set_peer"}, {(void **)&lib.derive, "EVP_PKEY_derive"},
    };
    state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
    if (!state) state = ccrypto_get_context(&context);
}

static long ready(void) {
    pthread_once(&once, load);
    if (!state) ccrypto_mark_errors();
    return state;
}

// The end of an operation: errors from it are removed from the thread's queue.
static long ended(long result) {
    ccrypto_forget_errors();
    return result;
}

// MARK: Keys

static const char *const rsa_names[ccrypto_rsa_numbers] = {
    "n", "e", "d", "rsa-factor1", "rsa-factor2", "rsa-exponent1", "rsa-exponent2", "rsa-coefficient1"};

static const char *curve_name(int curve) {
    return curve == 256 ? "P-256" : curve == 384 ? "P-384" : curve == 521 ? "P-521" : NULL;
}

static parameter text(const char *name, const char *value) {
    // libcrypto only reads the constant.
    return (parameter){name, type_text, (void *)value, strlen(value), 0};
}

static parameter of(const char *name, unsigned type, ccrypto_number value) {
    return (parameter){name, type, (void *)value.bytes, value.count, 0};
}

// NULL if these are not numbers of a key, or there is no memory.
static pkey *load_key(const ccrypto_key *key) {
    parameter parameters[ccrypto_rsa_numbers + 2] = {{0}};
    int count = 0, is_private;
    if (key->curve) {
        if (!curve_name(key->curve) || key->count < 1 || key->count > 2) return NULL;
        is_private = key->count == 2;
        parameters[count++] = text("group", curve_name(key->curve));
        parameters[count++] = of("pub", type_bytes, key->numbers[0]);
        if (is_private) parameters[count++] = of("priv", type_unsigned, key->numbers[1]);
    } else {
        if (key->count != 2 && key->count != ccrypto_rsa_numbers) return NULL;
        is_private = key->count > 2;
        for (; count < key->count; count++)
            parameters[count] = of(rsa_names[count], type_unsigned, key->numbers[count]);
    }
    pkey *loaded = NULL;
    operation *reading = lib.new_from_name(context, key->curve ? "EC" : "RSA", NULL);
    if (!reading || lib.init_read(reading) != 1 ||
        lib.read(reading, &loaded, is_private ? select_pair : select_public, parameters) != 1)
        loaded = NULL;
    lib.free_operation(reading);
    return loaded;
}

// An operation that holds the only reference to the key. NULL as above.
static operation *operation_of(const ccrypto_key *key) {
    pkey *loaded = load_key(key);
    operation *made = loaded ? lib.new_from_key(context, loaded, NULL) : NULL;
    lib.free_key(loaded);
    return made;
}

long ccrypto_key_check(const ccrypto_key *key) {
    long flaw = ready();
    if (flaw) return flaw;
    operation *checking = operation_of(key);
    int is_private = key->count > (key->curve ? 1 : 2);
    int done = checking && (!is_private || (lib.check_private(checking) == 1 && lib.check_pair(checking) == 1));
    lib.free_operation(checking);
    return ended(done ? 0 : -EINVAL);
}

// Writes a number of the key and wipes libcrypto's copy.
static int write(const pkey *key, const char *name, unsigned char *output, size_t length) {
    number *value = NULL;
    int done = lib.get_number(key, name, &value) == 1 && lib.write_number(value, output, (int)length) == (int)length;
    lib.wipe_number(value);
    return done;
}

static long write_key(const pkey *key, int curve, int rsa_bits, unsigned char *output, size_t room) {
    if (curve) {
        size_t length = ((size_t)curve + 7) / 8;
        if (room < 1 + 3 * length) return -EINVAL;
        *output = 4;
        int done = write(key, "qx", output + 1, length) && write(key, "qy", output + 1 + length, length) &&
                   write(key, "priv", output + 1 + 2 * length, length);
        return done ? (long)(1 + 3 * length) : -ENOMEM;
    }
    size_t length = ((size_t)rsa_bits + 7) / 8;
    if (room < ccrypto_rsa_numbers * length) return -EINVAL;
    for (int index = 0; index < ccrypto_rsa_numbers; index++)
        if (!write(key, rsa_names[index], output + (size_t)index * length, length)) return -ENOMEM;
    return (long)(ccrypto_rsa_numbers * length);
}

long ccrypto_key_generate(int curve, int rsa_bits, void *output, size_t room) {
    long flaw = ready();
    if (flaw) return flaw;
    if (curve ? !curve_name(curve) : rsa_bits < 512 || rsa_bits > 8192) return ended(-EINVAL);
    size_t bits = (size_t)rsa_bits;
    parameter parameters[] = {
        curve ? text("group", curve_name(curve)) : (parameter){"bits", type_unsigned, &bits, sizeof bits, 0}, {0}};
    operation *making = lib.new_from_name(context, curve ? "EC" : "RSA", NULL);
    pkey *made = NULL;
    int done = making && lib.init_generate(making) == 1 && lib.set(making, parameters) == 1 &&
               lib.generate(making, &made) == 1;
    long result = done ? write_key(made, curve, rsa_bits, output, room) : -ENOMEM;
    lib.free_key(made);
    lib.free_operation(making);
    return ended(result);
}

// MARK: Operations

enum { scheme_parameters = 5 };

// Returns 0 if there is no such hash.
static int describe(ccrypto_scheme scheme, int hash, parameter parameters[scheme_parameters]) {
    static const char *const modes[] = {"none", "pkcs1", "pss", "oaep"};
    const char *name = ccrypto_hash_name(hash);
    int count = 0;
    memset(parameters, 0, scheme_parameters * sizeof *parameters);
    if (hash ? !name : scheme == ccrypto_scheme_pss || scheme == ccrypto_scheme_oaep) return 0;
    if (scheme == ccrypto_scheme_ecdsa) return 1;
    parameters[count++] = text("pad-mode", modes[scheme]);
    if (!hash) return 1;
    parameters[count++] = text("digest", name);
    if (scheme == ccrypto_scheme_pkcs1) return 1;
    parameters[count++] = text("mgf1-digest", name);
    if (scheme == ccrypto_scheme_pss) parameters[count++] = text("saltlen", "digest");
    return 1;
}

long ccrypto_key_sign(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number digest, void *signature,
                      size_t room) {
    parameter parameters[scheme_parameters];
    long flaw = ready();
    if (flaw) return flaw;
    if (!describe(scheme, hash, parameters)) return ended(-EINVAL);
    if (scheme == ccrypto_scheme_ecdsa) return ended(ccrypto_curve_sign(key, digest, signature, room));
    operation *signing = operation_of(key);
    int done = signing && lib.init_sign(signing, parameters) == 1 &&
               lib.sign(signing, signature, &room, digest.bytes, digest.count) == 1;
    lib.free_operation(signing);
    return ended(done ? (long)room : -EINVAL);
}

long ccrypto_key_verify(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number digest,
                        ccrypto_number signature) {
    parameter parameters[scheme_parameters];
    long flaw = ready();
    if (flaw) return flaw;
    if (!describe(scheme, hash, parameters)) return ended(-EINVAL);
    operation *verifying = operation_of(key);
    int done = verifying && lib.init_verify(verifying, parameters) == 1 &&
               lib.verify(verifying, signature.bytes, signature.count, digest.bytes, digest.count) == 1;
    lib.free_operation(verifying);
    return ended(done ? 0 : -EBADMSG);
}

long ccrypto_key_encrypt(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number input, void *output,
                         size_t room) {
    parameter parameters[scheme_parameters];
    long flaw = ready();
    if (flaw) return flaw;
    if (!describe(scheme, hash, parameters)) return ended(-EINVAL);
    operation *encrypting = operation_of(key);
    int done = encrypting && lib.init_encrypt(encrypting, parameters) == 1 &&
               lib.encrypt(encrypting, output, &room, input.bytes, input.count) == 1;
    lib.free_operation(encrypting);
    return ended(done ? (long)room : -EINVAL);
}

long ccrypto_key_decrypt(const ccrypto_key *key, ccrypto_scheme scheme, int hash, ccrypto_number input, void *output,
                         size_t room) {
    parameter parameters[scheme_parameters];
    long flaw = ready();
    if (flaw) return flaw;
    int is_pkcs1 = scheme == ccrypto_scheme_pkcs1;
    if (key->count != ccrypto_rsa_numbers || !describe(is_pkcs1 ? ccrypto_scheme_none : scheme, hash, parameters))
        return ended(-EINVAL);
    size_t count = room;
    operation *decrypting = operation_of(key);
    int done = decrypting && lib.init_decrypt(decrypting, parameters) == 1 &&
               lib.decrypt(decrypting, output, &count, input.bytes, input.count) == 1;
    lib.free_operation(decrypting);
    if (!done) return ended(-EINVAL);
    return ended(is_pkcs1 ? ccrypto_message_of_block(key->numbers[2], input, output, count) : (long)count);
}

long ccrypto_key_recover(const ccrypto_key *key, ccrypto_number signature, void *output, size_t room) {
    parameter parameters[scheme_parameters];
    long flaw = ready();
    if (flaw) return flaw;
    operation *recovering = operation_of(key);
    int done = describe(ccrypto_scheme_none, 0, parameters) && recovering &&
               lib.init_recover(recovering, parameters) == 1 &&
               lib.recover(recovering, output, &room, signature.bytes, signature.count) == 1;
    lib.free_operation(recovering);
    return ended(done ? (long)room : -EINVAL);
}

long ccrypto_key_exchange(const ccrypto_key *key, const ccrypto_key *peer, void *output, size_t room) {
    long flaw = ready();
    if (flaw) return flaw;
    operation *deriving = operation_of(key);
    pkey *other = load_key(peer);
    // Setting the peer checks that it is a point of the curve.
    int done = deriving && other && lib.init_derive(deriving, NULL) == 1 && lib.set_peer(deriving, other) == 1 &&
               lib.derive(deriving, output, &room) == 1;
    lib.free_operation(deriving);
    lib.free_key(other);
    return ended(done ? (long)room : -EINVAL);
}
