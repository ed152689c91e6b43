// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CExpat.h"
#include "../CCurl/wiping.h"
#include <dlfcn.h>

typedef struct expat expat;
typedef struct {
    void *(*allocate)(size_t);
    void *(*reallocate)(void *, size_t);
    void (*release)(void *);
} memory_functions;

static struct {
    expat *(*create)(const char *encoding, const memory_functions *, const char *separator);
    void (*release)(expat *);
    void (*set_user_data)(expat *, void *);
    void (*set_elements)(expat *, void (*)(void *, const char *, const char **), void (*)(void *, const char *));
    void (*set_text)(expat *, void (*)(void *, const char *, int));
    void (*set_doctype)(expat *, void (*)(void *, const char *, const char *, const char *, int));
    int (*parse)(expat *, const char *, int, int);
    int (*stop)(expat *, unsigned char);
    unsigned long (*line)(expat *);
    int (*error)(expat *);
} lib;

struct cexpat_parser {
    expat *expat;
    cexpat_handlers handlers;
    int result;
};

static int load(void) {
    if (lib.error) return 1;
    void *library = dlopen("libexpat.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    const struct {
        void **function;
        const char *name;
    } names[] = {
        {(void **)&lib.create, "XML_ParserCreate_MM"}, {(void **)&lib.release, "XML_ParserFree"},
        {(void **)&lib.set_user_data, "XML_SetUserData"}, {(void **)&lib.set_elements, "XML_SetElementHandler"},
        {(void **)&lib.set_text, "XML_SetCharacterDataHandler"},
        {(void **)&lib.set_doctype, "XML_SetStartDoctypeDeclHandler"}, {(void **)&lib.parse, "XML_Parse"},
        {(void **)&lib.stop, "XML_StopParser"}, {(void **)&lib.line, "XML_GetCurrentLineNumber"},
        {(void **)&lib.error, "XML_GetErrorCode"},
    };
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (!(*names[index].function = dlsym(library, names[index].name))) return 0;
    return 1;
}

static void stop(cexpat_parser *parser, int result) {
    if (!parser->result) parser->result = result;
    lib.stop(parser->expat, 0);
}

static void start(void *context, const char *name, const char **attributes) {
    cexpat_parser *parser = context;
    if (parser->result) return;
    if (parser->handlers.start(parser->handlers.context, name, attributes)) stop(parser, CEXPAT_STOPPED);
}

static void end(void *context, const char *name) {
    cexpat_parser *parser = context;
    if (parser->result) return;
    if (parser->handlers.end(parser->handlers.context, name)) stop(parser, CEXPAT_STOPPED);
}

static void text(void *context, const char *bytes, int count) {
    cexpat_parser *parser = context;
    if (parser->result) return;
    if (parser->handlers.text(parser->handlers.context, bytes, (size_t)count)) stop(parser, CEXPAT_STOPPED);
}

static void doctype(void *context, const char *name, const char *system, const char *public, int has_subset) {
    (void)name, (void)system, (void)public, (void)has_subset;
    stop(context, CEXPAT_DOCTYPE);
}

cexpat_parser *cexpat_open(const cexpat_handlers *handlers) {
    if (!load()) return NULL;
    cexpat_parser *parser = calloc(1, sizeof *parser);
    if (!parser) return NULL;
    static const memory_functions memory = {allocate, reallocate, release};
    parser->expat = lib.create("UTF-8", &memory, NULL);
    if (!parser->expat) {
        free(parser);
        return NULL;
    }
    parser->handlers = *handlers;
    lib.set_user_data(parser->expat, parser);
    lib.set_elements(parser->expat, start, end);
    lib.set_text(parser->expat, text);
    lib.set_doctype(parser->expat, doctype);
    return parser;
}

int cexpat_parse(cexpat_parser *parser, const void *bytes, size_t count, int is_last) {
    const char *next = bytes;
    do {
        int part = count > 1 << 20 ? 1 << 20 : (int)count;
        count -= (size_t)part;
        int parsed = lib.parse(parser->expat, next, part, is_last && count == 0);
        if (parser->result) return parser->result;
        // XML_ERROR_NO_MEMORY
        if (!parsed) return parser->result = lib.error(parser->expat) == 1 ? CEXPAT_NO_MEMORY : CEXPAT_MALFORMED;
        next += part;
    } while (count > 0);
    return 0;
}

size_t cexpat_line(cexpat_parser *parser) { return lib.line(parser->expat); }

void cexpat_close(cexpat_parser *parser) {
    lib.release(parser->expat);
    free(parser);
}
