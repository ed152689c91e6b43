// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import TestSupport
import Testing

/// The results of Apple's certificate calls, without a vault. VaultFormatTests covers parsing and refusals.
struct CertificateTests {
    /// A minimal certificate: no names, no known algorithm, no key.
    private static let bare = """
        30403036020101300306012a3000301e170d3031303130313030303030305a170d3031303130313030303030305a3000
        3008300306012a030100300306012a030100
        """

    private func certificate(_ name: String) throws -> SecCertificate {
        let digits = try #require(try Vectors.table("certificates/openssl.txt")[name])
        return try #require(SecCertificateCreateWithData(nil, Data([UInt8](hexadecimal: digits)) as CFData))
    }

    @Test func `what a certificate does not have is nil, or left as it was`() throws {
        let bytes = Data([UInt8](hexadecimal: CertificateTests.bare))
        let bare = try #require(SecCertificateCreateWithData(nil, bytes as CFData))
        var name: CFString? = "untouched"
        #expect(SecCertificateCopyCommonName(bare, &name) == errSecInternal && name == "untouched")
        var addresses: CFArray?
        #expect(SecCertificateCopyEmailAddresses(bare, &addresses) == errSecSuccess && addresses?.count == 0)
        #expect(SecCertificateCopySubjectSummary(bare) == nil)
        #expect(SecCertificateCopyKey(bare) == nil && SecCertificateCopyPublicKey(bare) == nil)
        #expect(SecCertificateCopyNormalizedIssuerSequence(bare) as Data? == Data([0x30, 0x00]))
        #expect(try SecCertificateCopyKey(certificate("ed25519-v1")) == nil)
    }

    @Test func `names, addresses and numbers of a subject`() throws {
        let certificate = try certificate("p256")
        #expect(SecCertificateCopySubjectSummary(certificate) as String? == "second, first")
        var name: CFString?
        #expect(SecCertificateCopyCommonName(certificate, &name) == errSecSuccess && name == "second")
        var addresses: CFArray?
        #expect(SecCertificateCopyEmailAddresses(certificate, &addresses) == errSecSuccess)
        #expect(addresses as? [String] == ["ada@example.org"])
        var error: Unmanaged<CFError>?
        let serial = Data([UInt8](hexadecimal: "00f3a1b2c3d4e5f60718"))
        #expect(SecCertificateCopySerialNumberData(certificate, &error) as Data? == serial && error == nil)
        #expect(SecCertificateCopySerialNumber(certificate) as Data? == serial)
    }

    @Test func `a normalized name has its sequence around it`() throws {
        let certificate = try certificate("rsa")
        let subject = try #require(SecCertificateCopyNormalizedSubjectSequence(certificate) as Data?)
        #expect(subject.first == 0x30 && Int(subject[1]) == subject.count - 2)
        #expect(SecCertificateCopyNormalizedIssuerSequence(certificate) as Data? == subject)
    }

    @Test func `dates are those between which it counts`() throws {
        let certificate = try certificate("p384")
        let first = SecCertificateCopyNotValidBeforeDate(certificate) as Date?
        let last = SecCertificateCopyNotValidAfterDate(certificate) as Date?
        #expect(first == Date(timeIntervalSinceReferenceDate: 817_152_990))
        #expect(last == Date(timeIntervalSinceReferenceDate: 2_545_152_990))
    }

    @Test(arguments: [("p256", 65), ("p384", 97), ("p521", 133), ("rsa", 270)])
    func `the key is the certificate's`(name: String, length: Int) throws {
        let certificate = try certificate(name)
        let key = try #require(SecCertificateCopyKey(certificate))
        let bytes = try #require(SecKeyCopyExternalRepresentation(key, nil) as Data?)
        #expect(bytes.count == length && (SecCertificateCopyData(certificate) as Data).range(of: bytes) != nil)
        #expect(SecCertificateCopyPublicKey(certificate) == key)
    }

    @Test func `certificates of the same bytes are equal, and a description is one line of them`() throws {
        let (one, same, other) = (try certificate("rsa"), try certificate("rsa"), try certificate("p256"))
        #expect(one == same && one.hash == same.hash && one != other && CFEqual(one, same) && !CFEqual(one, other))
        #expect(one.description == "<SecCertificate \"rsa (for a test)\", 818 bytes>")
        #expect(CFGetTypeID(one) == SecCertificateGetTypeID())
    }
}
