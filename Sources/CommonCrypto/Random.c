// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "CommonCrypto/CommonRandom.h"
#include <errno.h>
#include <sys/random.h>

CCRNGStatus CCRandomGenerateBytes(void *bytes, size_t count) {
    if (!bytes) return count ? kCCParamError : kCCSuccess;
    for (size_t done = 0; done < count;) {
        ssize_t part = getrandom((char *)bytes + done, count - done, 0);
        if (part < 0 && errno != EINTR) return kCCRNGFailure;
        if (part > 0) done += (size_t)part;
    }
    return kCCSuccess;
}
