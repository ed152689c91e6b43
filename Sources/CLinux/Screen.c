// SPDX-License-Identifier: Apache-2.0
// A full-screen terminal display by ncursesw, which is loaded by name: linking it would slow every start of the
// command, and only one command uses it. The numbers of keys and attributes are those of ncurses' ABI 6.
#define _GNU_SOURCE
#include "CLinux.h"
#include <dlfcn.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

typedef struct window window;
typedef struct screen screen;

static struct {
    void *library;
    screen *(*newterm)(const char *, FILE *, FILE *);
    void (*delscreen)(screen *);
    int (*endwin)(void);
    int (*raw)(void);
    int (*noecho)(void);
    int (*nonl)(void);
    int (*curs_set)(int);
    int (*keypad)(window *, int);
    int (*wtimeout)(window *, int);
    int (*wget_wch)(window *, wint_t *);
    int (*werase)(window *);
    int (*wclear)(window *);
    int (*wmove)(window *, int, int);
    int (*waddnwstr)(window *, const wchar_t *, int);
    int (*wattrset)(window *, int);
    int (*wrefresh)(window *);
    int (*getmaxx)(window *);
    int (*getmaxy)(window *);
    window **stdscr;
} curses;

static screen *current;
static FILE *input, *output;

static int load(void) {
    if (curses.library) return 0;
    void *library = dlopen("libncursesw.so.6", RTLD_NOW | RTLD_LOCAL);
    if (!library) return -1;
    // A function pointer of any type has the size of a data pointer here.
    struct { const char *name; void *place; } symbols[] = {
        {"newterm", &curses.newterm}, {"delscreen", &curses.delscreen}, {"endwin", &curses.endwin},
        {"raw", &curses.raw}, {"noecho", &curses.noecho}, {"nonl", &curses.nonl}, {"curs_set", &curses.curs_set},
        {"keypad", &curses.keypad}, {"wtimeout", &curses.wtimeout}, {"wget_wch", &curses.wget_wch},
        {"werase", &curses.werase}, {"wclear", &curses.wclear}, {"wmove", &curses.wmove},
        {"waddnwstr", &curses.waddnwstr}, {"wattrset", &curses.wattrset}, {"wrefresh", &curses.wrefresh},
        {"getmaxx", &curses.getmaxx}, {"getmaxy", &curses.getmaxy}, {"stdscr", &curses.stdscr},
    };
    for (size_t index = 0; index < sizeof symbols / sizeof *symbols; index++) {
        void *symbol = dlsym(library, symbols[index].name);
        if (!symbol) {
            dlclose(library);
            return -1;
        }
        memcpy(symbols[index].place, &symbol, sizeof symbol);
    }
    curses.library = library;
    return 0;
}

static void begin(void) {
    curses.raw();
    curses.noecho();
    curses.nonl();
    curses.keypad(*curses.stdscr, 1);
    curses.wtimeout(*curses.stdscr, 0);
}

// Returns -ENOENT without the library, -ENOTTY without a terminal that supports drawing.
long clinux_screen_open(void) {
    if (load() != 0) return -ENOENT;
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) setlocale(LC_CTYPE, "C.UTF-8");
    output = fopen("/dev/tty", "we");
    input = fopen("/dev/tty", "re");
    current = output && input ? curses.newterm(NULL, output, input) : NULL;
    if (!current) {
        if (output) fclose(output);
        if (input) fclose(input);
        return -ENOTTY;
    }
    begin();
    return 0;
}

// Clears the display first, since a terminal without an alternate screen would keep it.
void clinux_screen_suspend(void) {
    curses.wclear(*curses.stdscr);
    curses.wrefresh(*curses.stdscr);
    curses.endwin();
}

void clinux_screen_resume(void) {
    begin();
    curses.wclear(*curses.stdscr);
    curses.wrefresh(*curses.stdscr);
}

void clinux_screen_close(void) {
    clinux_screen_suspend();
    curses.delscreen(current);
    fclose(output);
    fclose(input);
    current = NULL;
}

int clinux_screen_rows(void) { return curses.getmaxy(*curses.stdscr); }
int clinux_screen_columns(void) { return curses.getmaxx(*curses.stdscr); }
void clinux_screen_erase(void) { curses.werase(*curses.stdscr); }

// Draws valid UTF-8; text that does not fit into the row is cut off.
void clinux_screen_put(int row, int column, const void *bytes, size_t count, int style) {
    static const int styles[] = {0, 1 << 21 /* A_BOLD */, 1 << 18 /* A_REVERSE */, 1 << 17 /* A_UNDERLINE */};
    const unsigned char *text = bytes;
    wchar_t line[512];
    int length = 0, cells = 0, room = curses.getmaxx(*curses.stdscr) - column;
    for (size_t index = 0; index < count && length < 511;) {
        unsigned char first = text[index];
        int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        if (index + more >= count) break;
        wchar_t scalar = more == 0 ? first : first & (0x3f >> more);
        for (int offset = 1; offset <= more; offset++) scalar = scalar << 6 | (text[index + offset] & 0x3f);
        index += more + 1;
        int width = clinux_cell_width((uint32_t)scalar);
        if (cells + width > room) break;
        cells += width;
        line[length++] = scalar;
    }
    curses.wattrset(*curses.stdscr, styles[style & 3]);
    curses.wmove(*curses.stdscr, row, column);
    curses.waddnwstr(*curses.stdscr, line, length);
    curses.wattrset(*curses.stdscr, 0);
    explicit_bzero(line, sizeof line);
}

void clinux_screen_refresh(int row, int column) {
    curses.wmove(*curses.stdscr, row, column);
    curses.wrefresh(*curses.stdscr);
}

// The number of cells that a character takes: 0 to 2.
int clinux_cell_width(uint32_t scalar) {
    int width = wcwidth((wchar_t)scalar);
    return width < 0 ? 1 : width;
}

// Waits for a key, for input at `wake`, or for some milliseconds. Returns a character's number, CLINUX_KEY plus
// ncurses' number for other keys, or 0 after the time.
int clinux_screen_key(int wake, int patience) {
    wint_t key = 0;
    int result = curses.wget_wch(*curses.stdscr, &key);
    if (result < 0) {
        struct pollfd places[2] = {{.fd = fileno(input), .events = POLLIN}, {.fd = wake, .events = POLLIN}};
        int ready = poll(places, wake < 0 ? 1 : 2, patience);
        // A change of the size interrupts the wait and is reported as a key.
        if (ready == 0) return 0;
        if (ready > 0 && places[0].revents == 0) return CLINUX_KEY_WOKEN;
        if (ready > 0 && (places[0].revents & (POLLHUP | POLLERR))) return CLINUX_KEY_GONE;
        result = curses.wget_wch(*curses.stdscr, &key);
        if (result < 0) return CLINUX_KEY_WOKEN;
    }
    return result == 0 ? (int)key : CLINUX_KEY + (int)key;
}
