// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CCryptoPKCS12.h"
#include "CCryptoContext.h"
#include "ECPrivateKey.h"
#include "Element.h"
#include "Rounds.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

typedef struct file file;
typedef struct bag bag;
typedef struct stack stack;
typedef struct object object;
typedef struct string string;
typedef struct algorithm algorithm;
typedef struct sealed sealed;
typedef struct private_key private_key;
typedef struct digest digest;

// Structures whose fields are in the library's public headers and so the same in all releases of this name: PKCS7 with
// an encrypted content, and ASN1_TYPE.
typedef struct {
    object *content_type;
    algorithm *algorithm;
    string *bytes;
} encrypted_content;
typedef struct {
    string *version;
    encrypted_content *content;
} encrypted;
typedef struct {
    unsigned char *encoded;
    long length;
    int state, is_detached;
    object *type;
    void *content;
} safe;
typedef struct {
    int type;
    string *value;
} any;

static struct {
    unsigned long (*version)(void);
    file *(*new_file)(int mode, ccrypto_context *, const char *properties);
    file *(*read_file)(file **, const unsigned char **, long);
    void (*free_file)(file *);
    int (*has_code)(const file *);
    void (*code_of)(const string **code, const algorithm **, const string **salt, const string **rounds,
                    const file *);
    int (*verify_code)(file *, const char *password, int length);
    stack *(*safes_of)(const file *);
    void (*free_safe)(void *);
    stack *(*open_bags)(safe *);
    stack *(*decrypt_bags)(safe *, const char *password, int length);
    void (*free_bag)(void *);
    int (*kind_of)(const bag *);
    int (*kind_within)(const bag *);
    int (*write_bag)(const bag *, unsigned char **);
    const stack *(*bags_within)(const bag *);
    const private_key *(*open_key)(const bag *);
    const sealed *(*sealed_key)(const bag *);
    void (*parts_of)(const sealed *, const algorithm **, const string **bytes);
    private_key *(*decrypt_key)(const bag *, const char *password, int length, ccrypto_context *, const char *);
    void (*free_key)(private_key *);
    int (*numbers_of)(const object **, const unsigned char **, int *length, const algorithm **, const private_key *);
    const any *(*attribute_of)(const bag *, int kind);
    char *(*name_of)(bag *);
    void (*free_memory)(void *, const char *file, int line);
    void (*wipe)(void *, size_t);
    int (*count)(const stack *);
    void *(*element)(const stack *, int);
    void (*free_all)(stack *, void (*)(void *));
    int (*kind)(const object *);
    const char *(*short_name)(int kind);
    void (*split)(const object **, int *type, const void **parameter, const algorithm *);
    const unsigned char *(*bytes_of)(const string *);
    int (*length_of)(const string *);
    long (*integer_of)(const string *);
    digest *(*fetch_digest)(ccrypto_context *, const char *name, const char *properties);
    void (*free_digest)(digest *);
} lib;

static long state;
static ccrypto_context *context;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.version, "OpenSSL_version_num"}, {(void **)&lib.new_file, "PKCS12_init_ex"},
        {(void **)&lib.read_file, "d2i_PKCS12"}, {(void **)&lib.free_file, "PKCS12_free"},
        {(void **)&lib.has_code, "PKCS12_mac_present"}, {(void **)&lib.code_of, "PKCS12_get0_mac"},
        {(void **)&lib.verify_code, "PKCS12_verify_mac"}, {(void **)&lib.safes_of, "PKCS12_unpack_authsafes"},
        {(void **)&lib.free_safe, "PKCS7_free"}, {(void **)&lib.open_bags, "PKCS12_unpack_p7data"},
        {(void **)&lib.decrypt_bags, "PKCS12_unpack_p7encdata"}, {(void **)&lib.free_bag, "PKCS12_SAFEBAG_free"},
        {(void **)&lib.kind_of, "PKCS12_SAFEBAG_get_nid"}, {(void **)&lib.kind_within, "PKCS12_SAFEBAG_get_bag_nid"},
        {(void **)&lib.write_bag, "i2d_PKCS12_SAFEBAG"},
        {(void **)&lib.bags_within, "PKCS12_SAFEBAG_get0_safes"},
        {(void **)&lib.open_key, "PKCS12_SAFEBAG_get0_p8inf"},
        {(void **)&lib.sealed_key, "PKCS12_SAFEBAG_get0_pkcs8"}, {(void **)&lib.parts_of, "X509_SIG_get0"},
        {(void **)&lib.decrypt_key, "PKCS12_decrypt_skey_ex"}, {(void **)&lib.free_key, "PKCS8_PRIV_KEY_INFO_free"},
        {(void **)&lib.numbers_of, "PKCS8_pkey_get0"}, {(void **)&lib.attribute_of, "PKCS12_SAFEBAG_get0_attr"},
        {(void **)&lib.name_of, "PKCS12_get_friendlyname"}, {(void **)&lib.free_memory, "CRYPTO_free"},
        {(void **)&lib.wipe, "OPENSSL_cleanse"}, {(void **)&lib.count, "OPENSSL_sk_num"},
        {(void **)&lib.element, "OPENSSL_sk_value"}, {(void **)&lib.free_all, "OPENSSL_sk_pop_free"},
        {(void **)&lib.kind, "OBJ_obj2nid"}, {(void **)&lib.short_name, "OBJ_nid2sn"},
        {(void **)&lib.split, "X509_ALGOR_get0"}, {(void **)&lib.bytes_of, "ASN1_STRING_get0_data"},
        {(void **)&lib.length_of, "ASN1_STRING_length"}, {(void **)&lib.integer_of, "ASN1_INTEGER_get"},
        {(void **)&lib.fetch_digest, "EVP_MD_fetch"},
        {(void **)&lib.free_digest, "EVP_MD_free"},
    };
    // Without the provider "legacy" a file encrypted with RC2 has an unknown cipher.
    state = ccrypto_get_legacy_context(&context);
    if (!state) state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
}

// libcrypto's numbers of object types.
enum {
    kind_data = 21, kind_encrypted = 26, kind_key = 150, kind_sealed_key = 151, kind_certificate = 152, kind_bags = 155,
    kind_key_id = 157, kind_x509 = 158, kind_rsa = 6, kind_curve = 408, kind_pbmac1 = 162, type_octets = 4,
    type_object = 6
};

enum { most_bytes = 16 << 20, most_password = 1 << 16, most_parts = 10000, most_depth = 8 };
enum { most_rounds = 10000000, most_rounds_of_all = 4 * most_rounds };

struct reading {
    const char *password;
    int password_length;
    // Whether the password is known to be right.
    int is_right;
    long parts, rounds;
    ccrypto_bag_visitor visitor;
};

// MARK: Rounds

// Bounds the cost of a derivation before it is run.
static long take_rounds(struct reading *reading, long rounds) {
    if (rounds < 0) return rounds;
    if (rounds == 0 || rounds > most_rounds) return -EFBIG;
    reading->rounds += rounds;
    return reading->rounds > most_rounds_of_all ? -EFBIG : 0;
}

// MARK: Password

// Checks whether the library can compute the authentication code.
static long check_code(struct reading *reading, const file *from) {
    const string *code = NULL, *salt = NULL, *rounds = NULL;
    const algorithm *of = NULL;
    lib.code_of(&code, &of, &salt, &rounds, from);
    const object *kind = NULL;
    lib.split(&kind, NULL, NULL, of);
    // The library supports this code since version 3.4.
    if (lib.kind(kind) == kind_pbmac1)
        return lib.version() < 0x30400000 ? -ENOTSUP : take_rounds(reading, ccrypto_rounds_of_scheme(of));
    const char *name = lib.short_name(lib.kind(kind));
    digest *fetched = name ? lib.fetch_digest(context, name, NULL) : NULL;
    if (!fetched) return -ENOTSUP;
    lib.free_digest(fetched);
    // A number that does not fit is -1, and a missing one is 1.
    long count = rounds ? lib.integer_of(rounds) : 1;
    return take_rounds(reading, count < 0 ? 0 : count);
}

// An empty password and no password differ in two zero bytes, and programs disagree about which to use.
static long find_password(struct reading *reading, file *from) {
    if (!lib.has_code(from)) return 0;
    for (int try = 0; try < 2; try++) {
        long flaw = check_code(reading, from);
        if (flaw) return flaw;
        if (lib.verify_code(from, reading->password, reading->password_length) == 1) {
            reading->is_right = 1;
            return 0;
        }
        if (reading->password_length) break;
        reading->password = reading->password ? NULL : "";
    }
    return -EACCES;
}

// Whether to try the other form of the empty password, if no code has shown which it is.
static int takes_other_password(struct reading *reading) {
    if (reading->is_right || reading->password_length || reading->password) return 0;
    reading->password = "";
    return 1;
}

// The error for failed decryption although the algorithm may be known. The library's reasons differ by release.
static long undecrypted(const struct reading *reading) { return reading->is_right ? -ENOTSUP : -EACCES; }

// MARK: Keys

static long visit(struct reading *reading, bag *from, int kind, ccrypto_number bytes) {
    ccrypto_bag told = {kind, bytes, {NULL, 0}, {NULL, 0}};
    const any *key_id = lib.attribute_of(from, kind_key_id);
    if (key_id && key_id->type == type_octets && key_id->value)
        told.key_id = (ccrypto_number){lib.bytes_of(key_id->value), (size_t)lib.length_of(key_id->value)};
    char *name = lib.name_of(from);
    if (name) told.name = (ccrypto_number){name, strlen(name)};
    long flaw = reading->visitor.bag(reading->visitor.state, &told);
    lib.free_memory(name, __FILE__, __LINE__);
    return flaw;
}

static long visit_key(struct reading *reading, bag *from, const private_key *key) {
    const object *kind = NULL;
    const unsigned char *bytes = NULL;
    const algorithm *of = NULL;
    int count = 0;
    if (!key || lib.numbers_of(&kind, &bytes, &count, &of, key) != 1 || !bytes || count <= 0) return -EBADMSG;
    if (lib.kind(kind) == kind_rsa)
        return visit(reading, from, ccrypto_bag_rsa_key, (ccrypto_number){bytes, (size_t)count});
    if (lib.kind(kind) != kind_curve) return -ENOTSUP;
    int type = 0;
    const void *parameter = NULL;
    lib.split(NULL, &type, &parameter, of);
    int name = type == type_object ? lib.kind(parameter) : 0;
    unsigned char made[ccrypto_most_curve_key];
    long length = ccrypto_write_curve_key(context, name, (ccrypto_number){bytes, (size_t)count}, made);
    long flaw = length;
    if (length > 0) flaw = visit(reading, from, ccrypto_bag_curve_key, (ccrypto_number){made, (size_t)length});
    lib.wipe(made, sizeof made);
    return flaw;
}

static long visit_sealed_key(struct reading *reading, bag *from) {
    const algorithm *of = NULL;
    const string *bytes = NULL;
    const sealed *whole = lib.sealed_key(from);
    if (!whole) return -EBADMSG;
    lib.parts_of(whole, &of, &bytes);
    long flaw = take_rounds(reading, ccrypto_rounds_of_encryption(of));
    if (flaw) return flaw;
    private_key *key = NULL;
    do key = lib.decrypt_key(from, reading->password, reading->password_length, context, NULL);
    while (!key && takes_other_password(reading));
    if (!key) return undecrypted(reading);
    reading->is_right = 1;
    flaw = visit_key(reading, from, key);
    // Wipes the key.
    lib.free_key(key);
    return flaw;
}

// MARK: Bags

// The bytes of a certificate as stored in the bag: the library's parsed form belongs to another context.
static long visit_certificate(struct reading *reading, bag *from) {
    unsigned char *encoded = NULL;
    if (lib.kind_within(from) != kind_x509) return 0;
    int count = lib.write_bag(from, &encoded);
    if (count <= 0) return -ENOMEM;
    ccrypto_number bytes = {encoded, (size_t)count};
    // A bag is its kind and [0] its value, and so is the certificate's value.
    for (int level = 0; level < 2; level++) {
        bytes = ccrypto_take(&bytes, 0x30);
        ccrypto_take(&bytes, 0x06);
        bytes = ccrypto_take(&bytes, 0xa0);
    }
    bytes = ccrypto_take(&bytes, 0x04);
    long flaw = bytes.count ? visit(reading, from, ccrypto_bag_certificate, bytes) : -EBADMSG;
    lib.free_memory(encoded, __FILE__, __LINE__);
    return flaw;
}

static long visit_all(struct reading *reading, const stack *bags, int depth) {
    if (depth > most_depth) return -EFBIG;
    for (int index = 0; index < lib.count(bags); index++) {
        bag *next = lib.element(bags, index);
        if (++reading->parts > most_parts) return -EFBIG;
        long flaw = 0;
        switch (lib.kind_of(next)) {
        case kind_key: flaw = visit_key(reading, next, lib.open_key(next)); break;
        case kind_sealed_key: flaw = visit_sealed_key(reading, next); break;
        case kind_bags: flaw = visit_all(reading, lib.bags_within(next), depth + 1); break;
        case kind_certificate: flaw = visit_certificate(reading, next); break;
        // Revocation lists, other secrets and unknown bags are skipped.
        default: break;
        }
        if (flaw) return flaw;
    }
    return 0;
}

static long visit_safe(struct reading *reading, safe *from) {
    int kind = lib.kind(from->type);
    if (kind != kind_data && kind != kind_encrypted) return -ENOTSUP;
    if (!from->content) return -EBADMSG;
    stack *bags = NULL;
    if (kind == kind_data) {
        bags = lib.open_bags(from);
        // The content may include a key that no password protects.
        lib.wipe((void *)lib.bytes_of(from->content), (size_t)lib.length_of(from->content));
        if (!bags) return -EBADMSG;
    } else {
        const encrypted_content *content = ((const encrypted *)from->content)->content;
        if (!content || !content->bytes) return -EBADMSG;
        long flaw = take_rounds(reading, ccrypto_rounds_of_encryption(content->algorithm));
        if (flaw) return flaw;
        do bags = lib.decrypt_bags(from, reading->password, reading->password_length);
        while (!bags && takes_other_password(reading));
        if (!bags) return undecrypted(reading);
        reading->is_right = 1;
    }
    long flaw = visit_all(reading, bags, 0);
    // Wipes the keys of bags that are not encrypted themselves.
    lib.free_all(bags, lib.free_bag);
    return flaw;
}

static long read_all(struct reading *reading, ccrypto_number from) {
    const unsigned char *place = from.bytes;
    file *made = lib.new_file(kind_data, context, NULL);
    if (!made) return -ENOMEM;
    long flaw = lib.read_file(&made, &place, (long)from.count) ? 0 : -EBADMSG;
    stack *safes = flaw ? NULL : lib.safes_of(made);
    // The file is signed by a key instead of a password, or not at all.
    if (!flaw && !safes) flaw = -EBADMSG;
    if (!flaw) flaw = find_password(reading, made);
    for (int index = 0; !flaw && index < lib.count(safes); index++)
        flaw = visit_safe(reading, lib.element(safes, index));
    if (safes) lib.free_all(safes, lib.free_safe);
    lib.free_file(made);
    return flaw;
}

long ccrypto_pkcs12_read(ccrypto_number from, ccrypto_number password, ccrypto_bag_visitor visitor) {
    pthread_once(&once, load);
    if (state) return state;
    if (from.count > most_bytes) return -EFBIG;
    if (from.count == 0) return -EBADMSG;
    if (password.count > most_password) return -EACCES;
    struct reading reading = {
        .password = password.count ? password.bytes : NULL, .password_length = (int)password.count, .visitor = visitor};
    ccrypto_mark_errors();
    long flaw = read_all(&reading, from);
    ccrypto_forget_errors();
    return flaw;
}
