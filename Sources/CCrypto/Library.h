// SPDX-License-Identifier: Apache-2.0
#ifndef CCRYPTO_LIBRARY_H
#define CCRYPTO_LIBRARY_H

// libcrypto, loaded by name; NULL: it is not there.
__attribute__((visibility("hidden"))) void *ccrypto_library(void);
#endif
