// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport
import Testing

/// The output of Tests/Vectors/trust/make: `root` issued `intermediate`, which issued `leaf`, and so on.
enum TrustSamples {
    /// A date at which every certificate is valid, and a later date at which the leaves have expired.
    static let date = Date(timeIntervalSince1970: 1_900_000_000)
    static let laterDate = Date(timeIntervalSince1970: 2_800_000_000)

    static func data(_ name: String) throws -> Data { Data(try Vectors.bytes("trust/" + name)) }

    static func certificate(_ name: String) throws -> SecCertificate {
        try #require(SecCertificateCreateWithData(nil, data(name + ".der") as CFData))
    }

    /// - Parameter anchors: The anchors to set; `nil` sets none.
    static func trust(
        _ names: [String], anchors: [String]?, policy: SecPolicy? = nil, at date: Date = date
    ) throws -> SecTrust {
        var trust: SecTrust?
        let certificates = try names.map(certificate)
        #expect(SecTrustCreateWithCertificates(certificates as CFArray, policy, &trust) == errSecSuccess)
        let made = try #require(trust)
        if let anchors { SecTrustSetAnchorCertificates(made, try anchors.map(certificate) as CFArray) }
        SecTrustSetVerifyDate(made, date as CFDate)
        return made
    }

    static func server(_ host: String?) -> SecPolicy { SecPolicyCreateSSL(true, host as CFString?) }
}

extension SecTrust {
    /// Returns the error of the evaluation; `nil` if the certificate is trusted.
    func failure() -> CFError? {
        var error: CFError? = NSError(domain: "untouched", code: 1)
        let isTrusted = SecTrustEvaluateWithError(self, &error)
        #expect(isTrusted == (error == nil))
        return error
    }

    func status() -> OSStatus { failure().map { OSStatus($0.code) } ?? errSecSuccess }

    func result() -> SecTrustResultType {
        var result = SecTrustResultType.invalid
        #expect(SecTrustGetTrustResult(self, &result) == errSecSuccess)
        return result
    }

    func summaries() -> [String] {
        (SecTrustCopyCertificateChain(self) as? [SecCertificate] ?? []).map {
            SecCertificateCopySubjectSummary($0) as String? ?? ""
        }
    }
}
