// SPDX-License-Identifier: Apache-2.0
import CCrypto
import Glibc

/// Evaluates chains of certificates (RFC 5280) by libcrypto. Uses no network, and so checks no revocation.
package struct CertificateTrust: Sendable {
    /// The purpose of the evaluated certificate.
    package enum Purpose: Int32, Sendable { case any, tlsClient, tlsServer }

    /// A flaw of one certificate of the chain.
    package struct Finding: Hashable, Sendable {
        /// libcrypto's number, `X509_V_ERR_…`.
        package let code: Int32
        /// The certificate's position: 0 for the evaluated certificate, 1 for its issuer.
        package let depth: Int
    }

    /// The result of an evaluation. Without findings the certificate is trusted.
    package struct Verdict: Sendable {
        package fileprivate(set) var findings: [Finding] = []
        /// The certificates in DER, beginning with the evaluated one, as far as a chain could be built.
        package fileprivate(set) var chain: [[UInt8]] = []
    }

    /// The maximum numbers of certificates and anchors.
    package static let mostCertificates = 100
    package static let mostAnchors = 10_000

    /// X.509 in DER: the evaluated one, then those that may lead to an anchor. Certificates that are unreadable or
    /// exceed 1 MiB are ignored.
    package var certificates: [[UInt8]]
    /// Each anchor ends a chain, even if it is not a root.
    package var anchors: [[UInt8]]
    /// Whether the system's anchors also end a chain: those of libcrypto's default directory and default file, or of
    /// `$SSL_CERT_DIR` and `$SSL_CERT_FILE`.
    package var trustsSystem: Bool
    /// The time at which all certificates must be valid, in seconds since 1970.
    package var time: Int64
    package var purpose = Purpose.any
    /// Requires RSA of 2,048 bits, curves of 224 and SHA-2; otherwise 1,024 bits, 160 and no SHA-1.
    package var isStrict = false
    /// The name or address that a subject alternative name must match; `nil` to skip the check.
    package var host: String?

    package init(certificates: [[UInt8]], anchors: [[UInt8]], trustsSystem: Bool, time: Int64) {
        self.certificates = certificates
        self.anchors = anchors
        self.trustsSystem = trustsSystem
        self.time = time
    }

    package func evaluate() throws(CertificateTrustError) -> Verdict {
        let collector = VerdictCollector()
        let count = certificates.count
        // The pointers are lent for the duration of the call, and the visitor is called only during it.
        let result = unsafe lending(certificates + anchors) { numbers in
            unsafe Array((host ?? "").utf8).span.withPointer { host, length in
                var request = unsafe ccrypto_trust_request()
                unsafe request.certificates = numbers.baseAddress
                unsafe request.certificate_count = count
                unsafe request.anchors = numbers.baseAddress.map { unsafe $0 + count }
                unsafe request.anchor_count = numbers.count - count
                unsafe request.trusts_system = trustsSystem ? 1 : 0
                unsafe request.time = time
                unsafe request.level = isStrict ? 2 : 1
                unsafe request.purpose = purpose.rawValue
                unsafe request.checks_host = self.host == nil ? 0 : 1
                unsafe request.host = ccrypto_number(bytes: host, count: length)
                return unsafe ccrypto_trust_evaluate(&request, collector.visitor)
            }
        }
        switch -result {
        case 0: return collector.verdict
        case Int(EBADMSG): throw .unreadable
        case Int(EINVAL): throw .tooMuch
        case Int(ENOMEM): throw .outOfMemory
        default: throw .unavailable
        }
    }

    /// Lends all of them while the body runs.
    private func lending(_ runs: [[UInt8]], _ body: (UnsafeBufferPointer<ccrypto_number>) -> Int) -> Int {
        unsafe Array(runs.joined()).span.withPointer { start, _ in
            var place = unsafe start
            // The byte strings are consecutive.
            let numbers = unsafe runs.map { run in
                defer { unsafe place += run.count }
                return unsafe ccrypto_number(bytes: place, count: run.count)
            }
            return unsafe numbers.withUnsafeBufferPointer(body)
        }
    }
}

/// The reason why a chain could not be evaluated.
package enum CertificateTrustError: Error {
    /// libcrypto cannot read the evaluated certificate, or it exceeds 1 MiB.
    case unreadable
    /// There are too many certificates, or none.
    case tooMuch
    case outOfMemory
    /// libcrypto 3 is missing.
    case unavailable
}

/// Collects the arguments of the C visitor's calls.
private final class VerdictCollector {
    var verdict = CertificateTrust.Verdict()

    /// Called only while the collector is alive: during the call to which the visitor is passed.
    var visitor: ccrypto_trust_visitor {
        unsafe ccrypto_trust_visitor(
            state: Unmanaged.passUnretained(self).toOpaque(),
            error: { state, code, depth in
                guard let state = unsafe state else { return }
                let collector = unsafe Unmanaged<VerdictCollector>.fromOpaque(state).takeUnretainedValue()
                collector.verdict.findings.append(CertificateTrust.Finding(code: code, depth: Int(depth)))
            },
            certificate: { state, certificate in
                guard let state = unsafe state else { return }
                let collector = unsafe Unmanaged<VerdictCollector>.fromOpaque(state).takeUnretainedValue()
                // The bytes are valid during the call.
                let bytes = unsafe UnsafeRawBufferPointer(start: certificate.bytes, count: certificate.count)
                unsafe collector.verdict.chain.append(Array(bytes))
            })
    }
}
