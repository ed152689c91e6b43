// SPDX-License-Identifier: Apache-2.0
// XML by libexpat, which is loaded by name: one format of one command needs it. What the parser held is wiped before it
// is given back. A document type is refused, and with it entities: they can unfold without bounds, or name files.
#ifndef CEXPAT_H
#define CEXPAT_H
#include <stddef.h>

typedef struct {
    void *context;
    // `attributes` has names and values in turn, each ending with a zero byte, and then a null. Another result than 0
    // ends the parsing.
    int (*start)(void *context, const char *name, const char **attributes);
    int (*end)(void *context, const char *name);
    // A part of the text of an element; more may follow.
    int (*text)(void *context, const char *bytes, size_t count);
} cexpat_handlers;

typedef struct cexpat_parser cexpat_parser;

#define CEXPAT_STOPPED -1
#define CEXPAT_MALFORMED -2
#define CEXPAT_DOCTYPE -3
#define CEXPAT_NO_MEMORY -4

// Null without the library or memory.
cexpat_parser *cexpat_open(const cexpat_handlers *handlers);
// 0, or one of the above.
int cexpat_parse(cexpat_parser *parser, const void *bytes, size_t count, int is_last);
// From 1.
size_t cexpat_line(cexpat_parser *parser);
void cexpat_close(cexpat_parser *parser);
#endif
