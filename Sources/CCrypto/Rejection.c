// SPDX-License-Identifier: Apache-2.0
// Decryption that never reveals whether the padding was right: an attacker who learns that for chosen ciphertexts can
// read those of others (Bleichenbacher, CRYPTO '98). A wrong padding gives a message that looks random and is always
// the same for its ciphertext: draft-irtf-cfrg-rsa-guidance, as in libcrypto from version 3.2.
#include "Asymmetric.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { key_length = 32, longest_block = 1024, longest_label = 8, least_padding = 10 };

static struct {
    unsigned char *(*mac)(ccrypto_context *, const char *name, const char *properties, const char *hash,
                          const void *parameters, const void *key, size_t key_length, const unsigned char *input,
                          size_t input_length, unsigned char *output, size_t room, size_t *output_length);
    void (*wipe)(void *, size_t);
} lib;

static ccrypto_context *context;
static long state;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    const struct ccrypto_function functions[] = {{(void **)&lib.mac, "EVP_Q_mac"},
                                                 {(void **)&lib.wipe, "OPENSSL_cleanse"}};
    state = ccrypto_load_3(functions, sizeof functions / sizeof *functions);
    if (!state) state = ccrypto_get_context(&context);
}

static int hmac(const unsigned char *key, const unsigned char *input, size_t count, unsigned char *output) {
    size_t length = 0;
    return lib.mac(context, "HMAC", NULL, "SHA256", NULL, key, key_length, input, count, output, key_length, &length) &&
           length == key_length;
}

// The draft's IRPRF.
static int expand(const unsigned char *key, const char *label, unsigned char *output, size_t count) {
    unsigned char input[2 + longest_label + 2], last[key_length];
    size_t label_length = strlen(label);
    int done = 1;
    memcpy(input + 2, label, label_length);
    input[2 + label_length] = (unsigned char)(count * 8 >> 8);
    input[3 + label_length] = (unsigned char)(count * 8);
    for (size_t index = 0; done && index * key_length < count; index++) {
        size_t start = index * key_length, rest = count - start;
        input[0] = (unsigned char)(index >> 8);
        input[1] = (unsigned char)index;
        done = hmac(key, input, label_length + 4, last);
        memcpy(output + start, last, rest < key_length ? rest : key_length);
    }
    lib.wipe(last, sizeof last);
    return done;
}

// Hides from the compiler how a mask was computed, so that it does not make a branch of it.
static size_t hidden(size_t value) {
    __asm__("" : "+r"(value));
    return value;
}

// All ones or none, without a branch.
static size_t if_zero(size_t value) { return hidden(0 - ((~value & (value - 1)) >> (sizeof value * 8 - 1))); }
static size_t if_less(size_t a, size_t b) { return hidden(0 - ((a - b) >> (sizeof a * 8 - 1))); }
static size_t choose(size_t mask, size_t a, size_t b) { return (mask & a) | (~mask & b); }

// The length of the message for a wrong padding.
static size_t other_length(const unsigned char lengths[256], size_t limit) {
    size_t mask = limit, length = 0;
    for (size_t shift = 1; shift < 16; shift *= 2) mask |= mask >> shift;
    for (size_t index = 0; index < 256; index += 2) {
        size_t candidate = ((size_t)lengths[index] << 8 | lengths[index + 1]) & mask;
        length = choose(if_less(candidate, limit), candidate, length);
    }
    return length;
}

long ccrypto_message_of_block(ccrypto_number exponent, ccrypto_number ciphertext, unsigned char *block, size_t count) {
    unsigned char number[longest_block] = {0}, key[key_length], other[longest_block], lengths[256];
    pthread_once(&once, load);
    if (state) return state;
    if (count > longest_block || count < least_padding + 1 || exponent.count > count || ciphertext.count != count)
        return -EINVAL;
    const unsigned char *digits = exponent.bytes;
    for (size_t index = 0; index < exponent.count; index++) number[count - 1 - index] = digits[index];
    long result = -ENOMEM;
    if (ccrypto_digest(256, (ccrypto_number){number, count}, key, sizeof key) == key_length &&
        hmac(key, ciphertext.bytes, count, key) && expand(key, "message", other, count) &&
        expand(key, "length", lengths, sizeof lengths)) {
        // 0, 2, at least eight nonzero bytes, 0, and the message.
        size_t is_found = 0, start = 0;
        for (size_t index = 2; index < count; index++) {
            size_t is_first = if_zero(block[index]) & ~is_found;
            start = choose(is_first, index + 1, start);
            is_found |= is_first;
        }
        size_t is_right = if_zero(block[0]) & if_zero(block[1] ^ 2u) & is_found & ~if_less(start, least_padding + 1);
        start = choose(is_right, start, count - other_length(lengths, count - least_padding));
        for (size_t index = 0; index < count; index++)
            block[index] = (unsigned char)choose(is_right, block[index], other[index]);
        memmove(block, block + start, count - start);
        lib.wipe(block + count - start, start);
        result = (long)(count - start);
    }
    lib.wipe(number, sizeof number);
    lib.wipe(key, sizeof key);
    lib.wipe(other, sizeof other);
    lib.wipe(lengths, sizeof lengths);
    return result;
}
