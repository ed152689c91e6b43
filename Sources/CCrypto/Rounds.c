// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "Rounds.h"
#include <errno.h>
#include <pthread.h>

typedef struct algorithm algorithm;
typedef struct object object;
typedef struct string string;

// PBEPARAM, PBE2PARAM and PBKDF2PARAM, whose fields are in the library's public headers and so the same in all releases
// of this name.
typedef struct {
    string *salt, *rounds;
} derivation;
typedef struct {
    algorithm *derivation, *encryption;
} scheme;
typedef struct {
    void *salt;
    string *rounds, *length;
    algorithm *function;
} derivation_2;

static struct {
    int (*kind)(const object *);
    void (*split)(const object **, int *type, const void **parameter, const algorithm *);
    const unsigned char *(*bytes_of)(const string *);
    int (*length_of)(const string *);
    long (*integer_of)(const string *);
    derivation *(*read_derivation)(derivation **, const unsigned char **, long);
    void (*free_derivation)(derivation *);
    scheme *(*read_scheme)(scheme **, const unsigned char **, long);
    void (*free_scheme)(scheme *);
    derivation_2 *(*read_derivation_2)(derivation_2 **, const unsigned char **, long);
    void (*free_derivation_2)(derivation_2 *);
} lib;

static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {
        {(void **)&lib.kind, "OBJ_obj2nid"}, {(void **)&lib.split, "X509_ALGOR_get0"},
        {(void **)&lib.bytes_of, "ASN1_STRING_get0_data"}, {(void **)&lib.length_of, "ASN1_STRING_length"},
        {(void **)&lib.integer_of, "ASN1_INTEGER_get"}, {(void **)&lib.read_derivation, "d2i_PBEPARAM"},
        {(void **)&lib.free_derivation, "PBEPARAM_free"}, {(void **)&lib.read_scheme, "d2i_PBE2PARAM"},
        {(void **)&lib.free_scheme, "PBE2PARAM_free"}, {(void **)&lib.read_derivation_2, "d2i_PBKDF2PARAM"},
        {(void **)&lib.free_derivation_2, "PBKDF2PARAM_free"},
    };
    state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
}

// NID_id_pbkdf2, NID_pbes2 and V_ASN1_SEQUENCE.
enum { kind_pbkdf2 = 69, kind_pbes2 = 161, type_sequence = 16 };

// The parameter of an algorithm; NULL if it is not a sequence.
static const string *sequence_of(const algorithm *of, int *kind) {
    const object *name = NULL;
    const void *parameter = NULL;
    int type = 0;
    lib.split(&name, &type, &parameter, of);
    *kind = lib.kind(name);
    return type == type_sequence ? parameter : NULL;
}

static long positive(const string *rounds) {
    long count = lib.integer_of(rounds);
    return count > 0 ? count : 0;
}

// Of the derivations that PBES2 allows, only PBKDF2 is supported: no program writes files with scrypt, whose cost has
// three numbers.
static long rounds_of_pbkdf2(const algorithm *of) {
    int kind = 0;
    const string *encoded = sequence_of(of, &kind);
    if (!encoded || kind != kind_pbkdf2) return -ENOTSUP;
    const unsigned char *place = lib.bytes_of(encoded);
    derivation_2 *parameters = lib.read_derivation_2(NULL, &place, lib.length_of(encoded));
    if (!parameters) return -EBADMSG;
    long count = positive(parameters->rounds);
    lib.free_derivation_2(parameters);
    return count;
}

static long rounds_of_scheme(const string *encoded) {
    const unsigned char *place = lib.bytes_of(encoded);
    scheme *parameters = lib.read_scheme(NULL, &place, lib.length_of(encoded));
    if (!parameters) return -EBADMSG;
    long count = rounds_of_pbkdf2(parameters->derivation);
    lib.free_scheme(parameters);
    return count;
}

long ccrypto_rounds_of_scheme(const algorithm *of) {
    pthread_once(&once, load);
    if (state) return state;
    int kind = 0;
    const string *encoded = sequence_of(of, &kind);
    return encoded ? rounds_of_scheme(encoded) : -ENOTSUP;
}

long ccrypto_rounds_of_encryption(const algorithm *of) {
    pthread_once(&once, load);
    if (state) return state;
    int kind = 0;
    const string *encoded = sequence_of(of, &kind);
    if (!encoded) return -ENOTSUP;
    if (kind == kind_pbes2) return rounds_of_scheme(encoded);
    // All others have a salt and a number.
    const unsigned char *place = lib.bytes_of(encoded);
    derivation *parameters = lib.read_derivation(NULL, &place, lib.length_of(encoded));
    if (!parameters) return -ENOTSUP;
    long count = positive(parameters->rounds);
    lib.free_derivation(parameters);
    return count;
}
