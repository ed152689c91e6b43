// SPDX-License-Identifier: Apache-2.0
// Chains of certificates (RFC 5280), by libcrypto 3, in a separate library context, without network access.
#ifndef CCRYPTO_TRUST_H
#define CCRYPTO_TRUST_H
#include "CCryptoNumber.h"

typedef struct {
    // X.509 in DER: the evaluated certificate, then those that may lead from it to an anchor. 1 to 100 of them.
    const ccrypto_number *certificates;
    size_t certificate_count;
    // Each ends a chain, whether a root, an intermediate or the evaluated certificate itself. At most 10,000.
    const ccrypto_number *anchors;
    size_t anchor_count;
    // Whether the anchors of libcrypto's default directory and default file, or of $SSL_CERT_DIR and $SSL_CERT_FILE,
    // count.
    int trusts_system;
    // Seconds since 1970.
    int64_t time;
    // libcrypto's security level, 1 or 2, and its number of a purpose: 0 for any, 1 a TLS client, 2 a TLS server.
    int level, purpose;
    // The name or address that a subject alternative name must match, if it is to be checked.
    int checks_host;
    ccrypto_number host;
} ccrypto_trust_request;

// Receives the result in parts. `state` is passed through.
typedef struct {
    void *state;
    // An X509_V_ERR number, and the position of the certificate in the chain; 0 is the evaluated one.
    void (*error)(void *state, int code, int depth);
    // The certificates of the chain, as far as it could be built, beginning with the evaluated one. The bytes are valid
    // during the call.
    void (*certificate)(void *state, ccrypto_number certificate);
} ccrypto_trust_visitor;

// Evaluates a certificate. 0: the visitor has the result, and no error means that it is trusted. -ENOENT and -ENOSYS
// without libcrypto 3, -EBADMSG if libcrypto cannot read the evaluated certificate or it exceeds 1 MiB (others are
// skipped), -EINVAL for too many of them, -ENOMEM.
long ccrypto_trust_evaluate(const ccrypto_trust_request *request, ccrypto_trust_visitor visitor);
#endif
