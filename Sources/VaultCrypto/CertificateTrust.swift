// SPDX-License-Identifier: Apache-2.0
import CCrypto
import Glibc

/// Judges chains of certificates (RFC 5280) by libcrypto. It asks no network: there is no revocation.
package struct CertificateTrust: Sendable {
    /// What the judged certificate is for.
    package enum Purpose: Int32, Sendable { case any, tlsClient, tlsServer }

    /// What is wrong with one certificate of the chain.
    package struct Finding: Hashable, Sendable {
        /// libcrypto's number, `X509_V_ERR_…`.
        package let code: Int32
        /// Which one: 0 is the judged certificate, the next its issuer.
        package let depth: Int
    }

    /// What came out of it. Without findings the certificate is trusted.
    package struct Verdict: Sendable {
        package fileprivate(set) var findings: [Finding] = []
        /// The certificates in DER, from the judged one on, as far as a chain could be made.
        package fileprivate(set) var chain: [[UInt8]] = []
    }

    /// How many of each there may be.
    package static let mostCertificates = 100
    package static let mostAnchors = 10_000

    /// X.509 in DER: the judged one, then those that may lead to an anchor. Those that cannot be read,
    /// or have more than 1 MiB, lead nowhere.
    package var certificates: [[UInt8]]
    /// Each of them ends a chain, also one that is no root.
    package var anchors: [[UInt8]]
    /// Whether the anchors of the system end a chain as well: libcrypto's default directory and default file, or those
    /// of `$SSL_CERT_DIR` and `$SSL_CERT_FILE`.
    package var trustsSystem: Bool
    /// Seconds since 1970 at which all of them must be valid.
    package var time: Int64
    package var purpose = Purpose.any
    /// Asks for RSA of 2,048 bits, curves of 224 and SHA-2; else for 1,024 bits, 160 and no SHA-1.
    package var isStrict = false
    /// The name or address that a subject alternative name must have. Nil: it is not looked at.
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
        // The pointers are lent for the length of the call, in which the visitor is called and nowhere else.
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

    /// Lends all of them for as long as the body runs.
    private func lending(_ runs: [[UInt8]], _ body: (UnsafeBufferPointer<ccrypto_number>) -> Int) -> Int {
        unsafe Array(runs.joined()).span.withPointer { start, _ in
            var place = unsafe start
            // One run lies behind the other.
            let numbers = unsafe runs.map { run in
                defer { unsafe place += run.count }
                return unsafe ccrypto_number(bytes: place, count: run.count)
            }
            return unsafe numbers.withUnsafeBufferPointer(body)
        }
    }
}

/// Why a chain could not be judged.
package enum CertificateTrustError: Error {
    /// libcrypto cannot read the judged certificate, or it has more than 1 MiB.
    case unreadable
    /// There are too many certificates, or none.
    case tooMuch
    case outOfMemory
    /// There is no libcrypto 3.
    case unavailable
}

/// Takes what the visitor of C is called with.
private final class VerdictCollector {
    var verdict = CertificateTrust.Verdict()

    /// It is called while the collector is alive: in the call that it is handed to.
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
                // The bytes are there during the call.
                let bytes = unsafe UnsafeRawBufferPointer(start: certificate.bytes, count: certificate.count)
                unsafe collector.verdict.chain.append(Array(bytes))
            })
    }
}
