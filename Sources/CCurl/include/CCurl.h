// SPDX-License-Identifier: Apache-2.0
// HTTP by libcurl, which is loaded by name, since only one kind of remote needs it. Nothing is taken from the
// environment except the system's authorities: no proxy, no .netrc, no cookies, no key log file. Redirections are not
// followed. All memory of libcurl is wiped before it is freed, since passwords pass through it.
#ifndef CCURL_H
#define CCURL_H
#include <stddef.h>

typedef struct ccurl ccurl;

typedef struct {
    void *context;
    // Takes a part of an answer. A result other than 0 ends the transfer with CCURL_REFUSED.
    int (*take)(void *context, const void *bytes, size_t count);
} ccurl_taker;

// The end of a transfer: 0, an error number of libcurl, or a number below 0.
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
    // The HTTP status; 0 without an answer.
    long status;
    // The number of connections made for the request; 0 if an open one was used.
    long connections;
} ccurl_outcome;

// Returns 0, -ENOENT without the library, or -ENOSYS if it is older than 7.68.
int ccurl_load(void);
// Opens a handle with PEM files, each of which may be null. Returns null without the library or memory.
ccurl *ccurl_open(const char *authorities, const char *certificate, const char *key);
// A stream may be silent for ever; any other answer has a time limit.
#define CCURL_STREAM 1
// Sends nothing unless a connection to the server is open: CCURL_NOT_OPEN.
#define CCURL_NEEDS_OPEN 2
// Posts JSON, and waits for the whole answer. `header` is a line of the request's head, or null.
ccurl_outcome ccurl_post(ccurl *, const char *url, const char *header, const void *body, size_t count, int flags,
                         const ccurl_taker *);
// Returns libcurl's text about the last transfer, or an empty string.
const char *ccurl_error(ccurl *);
// Ends the current transfer, and every later one at once. Callable from any thread.
void ccurl_stop(ccurl *);
void ccurl_close(ccurl *);
#endif
