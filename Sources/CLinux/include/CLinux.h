// SPDX-License-Identifier: Apache-2.0
// System calls that Swift cannot import, each with its reason in CLinux.c. Every `long` is 0, a count or -errno. The
// bodies are not inline: they need _GNU_SOURCE, under which glibc's own headers differ from those from which Swift's
// Glibc module was made.
#ifndef CLINUX_H
#define CLINUX_H
#include <stddef.h>
#include <stdint.h>

#define CLINUX_LOCK_SHARED 0
#define CLINUX_LOCK_EXCLUSIVE 1
#define CLINUX_LOCK_NONE 2

int clinux_argument_count(void);
char **clinux_arguments(void);
const char *clinux_executed_name(void);
long clinux_set_undumpable(void);
int clinux_end_with(int32_t parent);
void clinux_set_name(const char *name);
void clinux_allow_all_descriptors(void);
void clinux_release_code(void);
long clinux_is_dumpable(void);
long clinux_forbid_core_dumps(void);
uint64_t clinux_file_size_limit(void);
uint64_t clinux_locked_memory_limit(void);
long clinux_openat(int directory, const char *name, int flags, unsigned mode);
long clinux_lock(int descriptor, int kind);
long clinux_rename_no_replace(int directory, const char *from, const char *to);
long clinux_reserve(int descriptor, int64_t offset, int64_t length);
void clinux_begin_writing(int descriptor, int64_t offset, int64_t length);
long clinux_exclude_from_dumps(void *base, size_t length);
long clinux_exclude_from_forks(void *base, size_t length);
long clinux_wipe_on_fork(void *base, size_t length);
void *clinux_map(size_t length);
void clinux_wipe_stack(size_t length);
long clinux_map_secret(void *base, size_t length);
long clinux_forbid_access(void *base, size_t length);
long clinux_filesystem_type(int descriptor);
int clinux_terminal_width(int descriptor);
int clinux_terminal_height(int descriptor);
int clinux_block_terminal_signals(int descriptor);
void clinux_unblock_terminal_signals(void);
int clinux_wait_for_input(int input, int signals);
void clinux_ignore_file_size_signal(void);
void clinux_hold_end_signals(void);
void clinux_release_end_signals(void);
void clinux_reset_crash_handlers(void);
void clinux_reserve_standard_streams(void);
int clinux_pending_terminal_signal(int signals);
long clinux_sealed_file(const char *name, const void *bytes, size_t count);
char **clinux_environment(void);
long clinux_execute(char *const arguments[], char *const environment[]);
long clinux_pipe(int ends[2]);
long clinux_spawn(char *const arguments[], char *const environment[], int output, int error, int *signals);
long clinux_spawn_helper(char *const arguments[], char *const environment[], int input, int output, int error,
                         int detached);
long clinux_exchange(const char *arguments, const void *input, size_t input_length, void *output, size_t capacity,
                     int seconds);
long clinux_open_terminal(int like, int *slave);
int clinux_tells_of_modes(unsigned char notice);
void clinux_follow_modes(int master, int real);
int clinux_follow_size(int master, int real);
int clinux_is_same_terminal(int one, int other);
void clinux_stop_as(int number);
int clinux_next_command_signal(int signals, int *passed);
void clinux_unblock_command_signals(void);
long clinux_readable(int descriptor);
long clinux_write_pipe(int descriptor, const void *bytes, size_t count);
void clinux_forget_descriptor(int descriptor);
long clinux_connect_unix(const char *path, long seconds);
void clinux_set_patience(int descriptor, long seconds);
long clinux_bind_unix(const char *path);
long clinux_is_unix_listener(int descriptor);
long clinux_unix_name(int descriptor, int of_peer, void *name, size_t capacity);
long clinux_accept(int descriptor, long seconds);
long clinux_peer(int descriptor, int32_t *process, uint32_t *user);
long clinux_peer_process(int descriptor);
long clinux_process(int32_t number);
long clinux_root(int32_t process);
long clinux_is_own_root_without(int directory, const char *name);
long clinux_read_file(int directory, const char *name, void *bytes, size_t capacity);
long clinux_has_ended(int process, int patience);
long clinux_send(int descriptor, const void *bytes, size_t count, int more);
long clinux_receive_some(int descriptor, void *bytes, size_t count);
long clinux_is_out_of_step(int descriptor);
long clinux_watch_directory(const char *path);
void clinux_discard_input(int descriptor);
long clinux_set_nonblocking(int descriptor);
void clinux_set_flags(int descriptor, long flags);
long clinux_write_some(int descriptor, const void *bytes, size_t count);
#define CLINUX_FOLDER_GONE 0xac00u
#define CLINUX_FOLDER_OVERFLOW 0x4000u
long clinux_folder_watches(void);
long clinux_watch_folder(int watches, const char *path);
#define CLINUX_KEY 0x1000000
#define CLINUX_KEY_WOKEN 0x1fffffe
#define CLINUX_KEY_GONE 0x1ffffff
long clinux_screen_open(void);
void clinux_screen_suspend(void);
void clinux_screen_resume(void);
void clinux_screen_close(void);
int clinux_screen_rows(void);
int clinux_screen_columns(void);
void clinux_screen_erase(void);
void clinux_screen_put(int row, int column, const void *bytes, size_t count, int style);
void clinux_screen_refresh(int row, int column);
int clinux_screen_key(int wake, int patience);
int clinux_cell_width(uint32_t scalar);
_Noreturn void clinux_end_as(int status);

#endif
