// SPDX-License-Identifier: Apache-2.0
// HTTP by libcurl, which is loaded by name: one kind of remote needs it. Nothing is taken from the environment but the
// system's authorities: no proxy, no .netrc, no cookies, no file for the keys of connections. No redirection is
// followed. All memory of libcurl's is wiped before it is given back, since passwords go through it.
#ifndef CCURL_H
#define CCURL_H
#include <stddef.h>

typedef struct ccurl ccurl;

typedef struct {
    void *context;
    // A part of an answer. Another result than 0 ends the transfer with CCURL_REFUSED.
    int (*take)(void *context, const void *bytes, size_t count);
} ccurl_taker;

// How a transfer ended: 0, a number of libcurl's, or one below 0.
#define CCURL_STOPPED -1
#define CCURL_NOT_OPEN -2
#define CCURL_REFUSED 23
#define CCURL_NOTHING 52
#define CCURL_RECEIVING 56
#define CCURL_CERTIFICATE 58
#define CCURL_VERIFICATION 60
#define CCURL_AUTHORITIES 77

typedef struct {
    int code;
    // Of HTTP; 0: there was no answer.
    long status;
    // How many connections were made for it: 0, an open one was used.
    long connections;
} ccurl_outcome;

// 0, -ENOENT without the library, -ENOSYS when it is older than 7.68.
int ccurl_load(void);
// Files of PEM; each may be null. Null without the library or memory.
ccurl *ccurl_open(const char *authorities, const char *certificate, const char *key);
// A stream may be silent for ever; any other answer has an end in time.
#define CCURL_STREAM 1
// Nothing is sent unless a connection to the server is open: CCURL_NOT_OPEN.
#define CCURL_NEEDS_OPEN 2
// Posts JSON, and waits for all of the answer. `header` is a line of the request's head, or null.
ccurl_outcome ccurl_post(ccurl *, const char *url, const char *header, const void *body, size_t count, int flags,
                         const ccurl_taker *);
// Of the last transfer, in words; empty: there are none.
const char *ccurl_error(ccurl *);
// Ends the transfer under way, and every later one at once; from any thread.
void ccurl_stop(ccurl *);
void ccurl_close(ccurl *);
#endif
