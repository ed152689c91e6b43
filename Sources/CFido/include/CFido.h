// SPDX-License-Identifier: Apache-2.0
// FIDO2 security keys by libfido2, which is loaded by name, since few commands use one. A key takes one call at a time.
// Each function returns 0, an error number of libfido2 (CTAP's status, or a number below 0), or one of the numbers from
// 1000.
#ifndef CFIDO_H
#define CFIDO_H
#include <stddef.h>

#define CFIDO_NO_LIBRARY 1000
#define CFIDO_NO_MEMORY 1001
// The key was silent for longer than its holder may take.
#define CFIDO_TIMED_OUT 1002
// The key could not be opened, or did not answer then: another program may have it.
#define CFIDO_UNANSWERED 1003

// The way to a key that the kernel does not know; it has the layout of libfido2's `fido_dev_io_t`.
typedef struct {
    void *(*open)(const char *path);
    void (*close)(void *);
    // Reads a report within some milliseconds, or without a limit for -1; returns its length, or -1.
    int (*read)(void *, unsigned char *bytes, size_t count, int milliseconds);
    int (*write)(void *, const unsigned char *bytes, size_t count);
} cfido_transport;

typedef struct cfido_key cfido_key;

int cfido_load(void);
// Passes on the path, the manufacturer and the product of each key; the texts are the key's own and may be null.
int cfido_find(void *context, void (*take)(void *context, const char *path, const char *manufacturer,
                                           const char *product));

// Opens a key, by the kernel's device if the transport is null. Returns null and the reason in `error`.
cfido_key *cfido_open(const char *path, const cfido_transport *, int *error);
void cfido_close(cfido_key *);

#define CFIDO_SECRETS 1
#define CFIDO_PROTECTION 2
#define CFIDO_PIN 4
#define CFIDO_VERIFICATION 8
// The features of a key: hmac-secret, credProtect, a PIN that is set, and verification without a PIN.
int cfido_features(cfido_key *);
// The number of wrong PINs after which the key blocks itself.
int cfido_pin_tries(cfido_key *, int *tries);

// Waits for the touch of a key among several: begins, asks each in turn, and ends for the others.
int cfido_begin_touch(cfido_key *);
int cfido_is_touched(cfido_key *, int *is_touched, int milliseconds);
void cfido_cancel(cfido_key *);

typedef struct {
    const char *relying_party;
    // Null if the key asks for none.
    const char *pin;
    // Whether the key verifies its holder without a PIN.
    int verifies_itself;
    const void *identifier;
    size_t identifier_count;
} cfido_request;

// Makes a credential with hmac-secret that the key does not store; the request has no identifier.
//
// - is_protected: whether the key refuses the credential without verification.
// - identifier: receives at most `*count` bytes.
int cfido_make(cfido_key *, const cfido_request *, int is_protected, void *identifier, size_t *count);
// Returns 0 if the key has the credential, without a touch.
int cfido_has(cfido_key *, const cfido_request *);
// Computes the 32-byte secret of a credential and a 32-byte salt.
int cfido_secret(cfido_key *, const cfido_request *, const void *salt, void *secret);
#endif
