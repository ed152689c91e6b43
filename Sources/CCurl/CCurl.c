// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CCurl.h"
#include "wiping.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

typedef struct curl curl;
typedef struct multi multi;
typedef struct list list;
typedef struct {
    int kind;
    curl *easy;
    union {
        void *whatever;
        int result;
    } data;
} message;

static struct {
    int (*global_init)(long flags, void *(*)(size_t), void (*)(void *), void *(*)(void *, size_t),
                       char *(*)(const char *), void *(*)(size_t, size_t));
    curl *(*init)(void);
    int (*set)(curl *, int option, ...);
    int (*info)(curl *, int information, ...);
    void (*cleanup)(curl *);
    list *(*append)(list *, const char *);
    void (*free_all)(list *);
    multi *(*multi_init)(void);
    int (*add)(multi *, curl *);
    int (*remove)(multi *, curl *);
    int (*perform)(multi *, int *running);
    int (*poll)(multi *, void *, unsigned, int milliseconds, int *);
    int (*wakeup)(multi *);
    message *(*read)(multi *, int *left);
    int (*multi_cleanup)(multi *);
} lib;

static int state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Numbers of curl/curl.h, which never change.
enum {
    TIMEOUT = 13, LOW_SPEED_LIMIT = 19, LOW_SPEED_TIME = 20, SSLVERSION = 32, POST = 47, NETRC = 51,
    FOLLOWLOCATION = 52, VERIFYPEER = 64, CONNECTTIMEOUT = 78, VERIFYHOST = 81, HTTP_VERSION = 84, NOSIGNAL = 99,
    PROTOCOLS = 181, REDIR_PROTOCOLS = 182, TCP_KEEPALIVE = 213, TCP_KEEPIDLE = 214, TCP_KEEPINTVL = 215,
    WRITEDATA = 10001, URL = 10002, PROXY = 10004, ERRORBUFFER = 10010, POSTFIELDS = 10015, HTTPHEADER = 10023,
    SSLCERT = 10025, KEYPASSWD = 10026, HEADERDATA = 10029, CAINFO = 10065, SSLKEY = 10087, CAPATH = 10097,
    SOCKOPTDATA = 10149, WRITEFUNCTION = 20011, HEADERFUNCTION = 20079, SOCKOPTFUNCTION = 20148,
    POSTFIELDSIZE_LARGE = 30120, QUICK_EXIT = 320,
    RESPONSE_CODE = 0x200002, NUM_CONNECTS = 0x20001a,
    TLS_1_2 = 6, HTTP_1_1 = 2, HTTP_AND_HTTPS = 3, DONE = 1,
};

struct ccurl {
    curl *easy;
    multi *multi;
    list *headers;
    const ccurl_taker *taker;
    // The bytes of the current answer's head so far.
    size_t head_length;
    // Whether the request may only use an open connection, and whether there was none.
    int needs_open, lacks_open;
    atomic_int is_stopped;
    char error[256];
};

static void *allocate_zeros(size_t count, size_t length) {
    if (length && count > SIZE_MAX / length) return NULL;
    void *block = allocate(count * length);
    return block ? memset(block, 0, count * length) : NULL;
}

static char *duplicate(const char *text) {
    size_t length = strlen(text) + 1;
    char *copy = allocate(length);
    return copy ? memcpy(copy, text, length) : NULL;
}

static void load(void) {
    // Both kinds of libcurl would write the TLS keys of all connections into that file.
    unsetenv("SSLKEYLOGFILE");
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        state = -ENOENT;
        return;
    }
    const struct {
        void **function;
        const char *name;
    } names[] = {
        {(void **)&lib.global_init, "curl_global_init_mem"}, {(void **)&lib.init, "curl_easy_init"},
        {(void **)&lib.set, "curl_easy_setopt"}, {(void **)&lib.info, "curl_easy_getinfo"},
        {(void **)&lib.cleanup, "curl_easy_cleanup"}, {(void **)&lib.append, "curl_slist_append"},
        {(void **)&lib.free_all, "curl_slist_free_all"}, {(void **)&lib.multi_init, "curl_multi_init"},
        {(void **)&lib.add, "curl_multi_add_handle"}, {(void **)&lib.remove, "curl_multi_remove_handle"},
        {(void **)&lib.perform, "curl_multi_perform"}, {(void **)&lib.poll, "curl_multi_poll"},
        {(void **)&lib.wakeup, "curl_multi_wakeup"}, {(void **)&lib.read, "curl_multi_info_read"},
        {(void **)&lib.multi_cleanup, "curl_multi_cleanup"},
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (!(*names[index].function = dlsym(library, names[index].name))) state = -ENOSYS;
    // 3: CURL_GLOBAL_ALL
    if (!state && lib.global_init(3, allocate, release, reallocate, duplicate, allocate_zeros)) state = -ENOSYS;
}

int ccurl_load(void) {
    pthread_once(&once, load);
    return state;
}

static size_t take(char *bytes, size_t size, size_t count, void *context) {
    ccurl *this = context;
    size_t length = size * count;
    return this->taker->take(this->taker->context, bytes, length) ? 0 : length;
}

// The head of an answer arrives line by line, and a hostile server could continue for ever.
static size_t take_head(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    ccurl *this = context;
    size_t length = size * count;
    this->head_length += length;
    return this->head_length > 64 << 10 ? 0 : length;
}

// Called before a connection is made; 1 aborts the request.
static int prepare(void *context, int descriptor, int purpose) {
    (void)descriptor, (void)purpose;
    ccurl *this = context;
    if (this->needs_open) this->lacks_open = 1;
    return this->needs_open;
}

ccurl *ccurl_open(const char *authorities, const char *certificate, const char *key) {
    if (ccurl_load()) return NULL;
    ccurl *this = calloc(1, sizeof *this);
    if (!this) return NULL;
    this->easy = lib.init();
    this->multi = lib.multi_init();
    if (!this->easy || !this->multi) {
        ccurl_close(this);
        return NULL;
    }
    const struct {
        int option;
        long value;
    } numbers[] = {
        {NOSIGNAL, 1}, {PROTOCOLS, HTTP_AND_HTTPS}, {REDIR_PROTOCOLS, HTTP_AND_HTTPS}, {FOLLOWLOCATION, 0},
        {NETRC, 0}, {SSLVERSION, TLS_1_2}, {VERIFYPEER, 1}, {VERIFYHOST, 2}, {HTTP_VERSION, HTTP_1_1},
        {CONNECTTIMEOUT, 10}, {TCP_KEEPALIVE, 1}, {TCP_KEEPIDLE, 60}, {TCP_KEEPINTVL, 15},
    };
    int failed = 0;
    for (size_t index = 0; index < sizeof numbers / sizeof *numbers; index++)
        failed |= lib.set(this->easy, numbers[index].option, numbers[index].value);
    // Empty: no proxy, whatever the environment says.
    failed |= lib.set(this->easy, PROXY, "");
    failed |= lib.set(this->easy, ERRORBUFFER, this->error);
    failed |= lib.set(this->easy, WRITEFUNCTION, take);
    failed |= lib.set(this->easy, WRITEDATA, (void *)this);
    failed |= lib.set(this->easy, HEADERFUNCTION, take_head);
    failed |= lib.set(this->easy, HEADERDATA, (void *)this);
    failed |= lib.set(this->easy, SOCKOPTFUNCTION, prepare);
    failed |= lib.set(this->easy, SOCKOPTDATA, (void *)this);
    // Since 7.87: the end of a request does not wait for the end of a name look-up.
    lib.set(this->easy, QUICK_EXIT, 1L);
    if (authorities) {
        // Otherwise the folder of the system's authorities would still be trusted.
        failed |= lib.set(this->easy, CAINFO, authorities);
        failed |= lib.set(this->easy, CAPATH, (char *)NULL);
    }
    if (certificate && key) {
        failed |= lib.set(this->easy, SSLCERT, certificate);
        failed |= lib.set(this->easy, SSLKEY, key);
        // Without a passphrase OpenSSL would ask at the terminal.
        failed |= lib.set(this->easy, KEYPASSWD, "");
    }
    if (failed) {
        ccurl_close(this);
        return NULL;
    }
    return this;
}

static int set_headers(ccurl *this, const char *header) {
    // The third: libcurl would wait a second for a server's consent to a long body.
    // The fourth: a member that is cut off from the others reports this instead of being silent.
    const char *lines[] = {"Content-Type: application/json", "Accept: application/json", "Expect:",
                           "Grpc-Metadata-hasleader: true", header};
    for (size_t index = 0; index < sizeof lines / sizeof *lines && lines[index]; index++) {
        list *longer = lib.append(this->headers, lines[index]);
        if (!longer) return -1;
        this->headers = longer;
    }
    return lib.set(this->easy, HTTPHEADER, this->headers);
}

// 27: CURLE_OUT_OF_MEMORY
static int transfer(ccurl *this) {
    if (lib.add(this->multi, this->easy)) return 27;
    int running = 1, code = 27;
    while (!atomic_load(&this->is_stopped)) {
        if (lib.perform(this->multi, &running)) break;
        int left;
        message *said = lib.read(this->multi, &left);
        if (said && said->kind == DONE) {
            code = said->data.result;
            break;
        }
        if (!running || lib.poll(this->multi, NULL, 0, 1000, NULL)) break;
    }
    if (this->lacks_open) code = CCURL_NOT_OPEN;
    if (atomic_load(&this->is_stopped)) code = CCURL_STOPPED;
    lib.remove(this->multi, this->easy);
    return code;
}

ccurl_outcome ccurl_post(ccurl *this, const char *url, const char *header, const void *body, size_t count, int flags,
                         const ccurl_taker *taker) {
    ccurl_outcome outcome = {27, 0, 0};
    int is_stream = (flags & CCURL_STREAM) != 0;
    this->taker = taker;
    this->head_length = 0;
    this->needs_open = (flags & CCURL_NEEDS_OPEN) != 0;
    this->lacks_open = 0;
    *this->error = 0;
    int failed = set_headers(this, header);
    failed |= lib.set(this->easy, URL, url);
    failed |= lib.set(this->easy, POST, 1L);
    failed |= lib.set(this->easy, POSTFIELDSIZE_LARGE, (int64_t)count);
    failed |= lib.set(this->easy, POSTFIELDS, body);
    failed |= lib.set(this->easy, LOW_SPEED_LIMIT, is_stream ? 0L : 64L);
    failed |= lib.set(this->easy, LOW_SPEED_TIME, is_stream ? 0L : 30L);
    failed |= lib.set(this->easy, TIMEOUT, is_stream ? 0L : 300L);
    if (!failed) {
        // Some versions write through OpenSSL, which raises SIGPIPE on a connection that the server has closed.
        sigset_t pipe, before;
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe, &before);
        outcome.code = transfer(this);
        const struct timespec none = {0, 0};
        if (!sigismember(&before, SIGPIPE)) sigtimedwait(&pipe, NULL, &none);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        lib.info(this->easy, RESPONSE_CODE, &outcome.status);
        lib.info(this->easy, NUM_CONNECTS, &outcome.connections);
    }
    lib.set(this->easy, POSTFIELDS, (char *)NULL);
    lib.set(this->easy, HTTPHEADER, (list *)NULL);
    lib.free_all(this->headers);
    this->headers = NULL;
    this->taker = NULL;
    return outcome;
}

const char *ccurl_error(ccurl *this) { return this->error; }

void ccurl_stop(ccurl *this) {
    atomic_store(&this->is_stopped, 1);
    lib.wakeup(this->multi);
}

void ccurl_close(ccurl *this) {
    if (this->easy) lib.cleanup(this->easy);
    if (this->multi) lib.multi_cleanup(this->multi);
    free(this);
}
