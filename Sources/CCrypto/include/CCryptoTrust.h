// SPDX-License-Identifier: Apache-2.0
// Chains of certificates (RFC 5280), by libcrypto 3, in a library context of one's own. Nothing is asked of a network.
#ifndef CCRYPTO_TRUST_H
#define CCRYPTO_TRUST_H
#include "CCryptoNumber.h"

typedef struct {
    // X.509 in DER: the one that is judged, then those that may lead from it to an anchor. 1 to 100 of them.
    const ccrypto_number *certificates;
    size_t certificate_count;
    // Each ends a chain, be it a root, an intermediate or the judged certificate itself. At most 10,000.
    const ccrypto_number *anchors;
    size_t anchor_count;
    // Whether those of libcrypto's default directory and default file, or of $SSL_CERT_DIR and $SSL_CERT_FILE, count.
    int trusts_system;
    // Seconds since 1970.
    int64_t time;
    // libcrypto's level of security, 1 or 2, and its number of a purpose: 0 for any, 1 a TLS client, 2 a TLS server.
    int level, purpose;
    // The name or address that a subject alternative name must have, if it is to be looked at.
    int checks_host;
    ccrypto_number host;
} ccrypto_trust_request;

// What gets the result, one part after the other. `state` is handed through.
typedef struct {
    void *state;
    // An X509_V_ERR number, and which certificate of the chain it is about; 0 is the judged one.
    void (*error)(void *state, int code, int depth);
    // The chain, as far as it could be made, from the judged certificate on. The bytes are there during the call.
    void (*certificate)(void *state, ccrypto_number certificate);
} ccrypto_trust_visitor;

// Judges a certificate. 0: the visitor knows, and no error means that it is trusted. -ENOENT and -ENOSYS without
// libcrypto 3, -EBADMSG for a certificate that libcrypto cannot read or that has more than 1 MiB (one that is not
// judged is passed over), -EINVAL for too many of them, -ENOMEM.
long ccrypto_trust_evaluate(const ccrypto_trust_request *request, ccrypto_trust_visitor visitor);
#endif
