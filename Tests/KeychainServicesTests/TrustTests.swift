// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Foundation
import Glibc
import KeychainServices
import TestSupport
import Testing

/// Certificate chains, without a vault.
struct TrustTests {
    private static let chain = ["leaf", "intermediate"]

    @Test func `a trust is made of certificates and policies alone`() throws {
        let leaf = try TrustSamples.certificate("leaf")
        var trust: SecTrust?
        let policy = SecPolicyCreateBasicX509()
        let refused: [(CFTypeRef, CFTypeRef?)] = [
            ([] as CFArray, policy), (["x"] as CFArray, policy), (leaf, leaf), ([leaf, "x"] as CFArray, nil),
            ("x" as CFString, nil), (leaf, ["x"] as CFArray), (policy, policy),
        ]
        for (certificates, policies) in refused {
            #expect(SecTrustCreateWithCertificates(certificates, policies, &trust) == errSecParam)
            #expect(trust == nil)
        }
        #expect(SecTrustCreateWithCertificates(leaf, nil, &trust) == errSecSuccess)
        let made = try #require(trust)
        #expect(SecTrustSetAnchorCertificates(made, [Data()] as CFArray) == errSecParam)
        #expect(SecTrustSetPolicies(made, leaf) == errSecParam)
        var policies: CFArray?
        SecTrustCopyPolicies(made, &policies)
        #expect(policies as? [SecPolicy] == [policy])
        #expect(CFGetTypeID(made) == SecTrustGetTypeID() && CFGetTypeID(policy) == SecPolicyGetTypeID())
    }

    @Test(arguments: [
        ("www.example.com", false, errSecSuccess), ("other.example", false, errSecHostNameMismatch),
        ("www.example.com", true, errSecCertificateExpired), ("other.example", true, errSecHostNameMismatch),
    ]) func `a wrong name comes before an expired certificate`(host: String, isLate: Bool, status: OSStatus) throws {
        let trust = try TrustSamples.trust(
            Self.chain, anchors: ["root"], policy: TrustSamples.server(host),
            at: isLate ? TrustSamples.laterDate : TrustSamples.date)
        #expect(trust.status() == status)
        #expect(trust.result() == (status == errSecSuccess ? .unspecified : .recoverableTrustFailure))
        #expect(trust.summaries() == ["www.example.com", "intermediate", "root"])
    }

    @Test(
        arguments: [
            (chain, [], errSecCreateChainFailed), (chain + ["root"], [], errSecNotTrusted),
            (["leaf"], ["root"], errSecCreateChainFailed), (["alone"], [], errSecNotTrusted),
        ] as [([String], [String], OSStatus)])
    func `a chain without an anchor comes before a wrong name and an expired certificate`(
        names: [String], anchors: [String], status: OSStatus
    ) throws {
        let trust = try TrustSamples.trust(
            names, anchors: anchors, policy: TrustSamples.server("other.example"), at: TrustSamples.laterDate)
        #expect(trust.status() == status)
    }

    @Test func `a certificate that signed itself is no anchor of the system`() throws {
        #expect(try TrustSamples.trust(["alone"], anchors: nil).status() == errSecNotTrusted)
        #expect(try TrustSamples.trust(["alone"], anchors: ["alone"]).status() == errSecSuccess)
    }

    @Test func `any anchor ends a chain`() throws {
        for (anchor, count) in [("root", 3), ("intermediate", 2), ("leaf", 1)] {
            let trust = try TrustSamples.trust(Self.chain, anchors: [anchor])
            #expect(trust.status() == errSecSuccess)
            #expect(SecTrustGetCertificateCount(trust) == count)
            #expect(SecTrustGetCertificateAtIndex(trust, 0) == (try TrustSamples.certificate("leaf")))
            #expect(
                SecTrustGetCertificateAtIndex(trust, count) == nil && SecTrustGetCertificateAtIndex(trust, -1) == nil)
        }
    }

    @Test(arguments: [
        ("nameless", "www.example.com", errSecHostNameMismatch), ("leaf", "", errSecHostNameMismatch),
        ("leaf", ".", errSecHostNameMismatch), ("leaf", ".example.com", errSecHostNameMismatch),
        ("leaf", "www.example.com\0", errSecHostNameMismatch), ("leaf", "192.0.2.8", errSecHostNameMismatch),
        ("leaf", String(repeating: "a.", count: 200) + "wild.example", errSecHostNameMismatch),
        ("leaf", "a.b.wild.example", errSecHostNameMismatch), ("leaf", "wild.example", errSecHostNameMismatch),
        ("leaf", "192.0.2.7", errSecSuccess), ("leaf", "2001:db8::7", errSecSuccess),
        ("leaf", "a.wild.example", errSecSuccess), ("leaf", "WWW.Example.com.", errSecSuccess),
        ("client", "www.example.com", errSecInvalidExtendedKeyUsage),
        ("critical", "www.example.com", errSecUnknownCriticalExtensionFlag),
    ]) func `a server has a name that an alternative name says`(name: String, host: String, status: OSStatus) throws {
        let trust = try TrustSamples.trust(
            [name, "intermediate"], anchors: ["root"], policy: TrustSamples.server(host))
        #expect(trust.status() == status)
    }

    @Test func `a client's certificate is one of a client`() throws {
        let policy = SecPolicyCreateSSL(false, nil)
        #expect(
            try TrustSamples.trust(["client", "intermediate"], anchors: ["root"], policy: policy).status()
                == errSecSuccess)
    }

    @Test(
        arguments: [
            (["below-leaf", "below", "last"], errSecPathLengthConstraintExceeded),
            (["named-leaf", "named"], errSecInvalidName),
            (["below-leaf", "leaf"], errSecCreateChainFailed),
        ] as [([String], OSStatus)])
    func `an issuer issues what it may`(names: [String], status: OSStatus) throws {
        #expect(try TrustSamples.trust(names, anchors: ["root"]).status() == status)
    }

    @Test func `a short key and a weak hash are fatal`() throws {
        let server = TrustSamples.server("www.example.com")
        let short = try TrustSamples.trust(["short"], anchors: ["root"], policy: server)
        #expect(short.status() == errSecUnsupportedKeySize && short.result() == .fatalTrustFailure)
        #expect(try TrustSamples.trust(["short"], anchors: ["root"]).status() == errSecSuccess)
        let weak = try TrustSamples.trust(["weak"], anchors: ["root"], policy: server)
        #expect(weak.status() == errSecInvalidDigestAlgorithm && weak.result() == .fatalTrustFailure)
        #expect(try TrustSamples.trust(["rsa"], anchors: ["root"], policy: server).status() == errSecSuccess)
    }

    @Test func `revocation that must be looked up fails, other revocation has no effect`() throws {
        let basic = SecPolicyCreateBasicX509()
        let trust = try TrustSamples.trust(Self.chain, anchors: ["root"])
        for (flags, status) in [
            (kSecRevocationUseAnyAvailableMethod, errSecSuccess),
            (kSecRevocationOCSPMethod | kSecRevocationRequirePositiveResponse, errSecIncompleteCertRevocationCheck),
        ] {
            let revocation = try #require(SecPolicyCreateRevocation(flags))
            SecTrustSetPolicies(trust, [basic, revocation] as CFArray)
            #expect(trust.status() == status)
            SecTrustSetPolicies(trust, revocation)
            #expect(trust.status() == status)
        }
    }

    @Test func `every policy of several counts`() throws {
        let trust = try TrustSamples.trust(Self.chain, anchors: ["root"])
        let (right, wrong) = (TrustSamples.server("www.example.com"), TrustSamples.server("other.example"))
        SecTrustSetPolicies(trust, [right, wrong] as CFArray)
        #expect(trust.status() == errSecHostNameMismatch)
        SecTrustSetPolicies(trust, [right, TrustSamples.server("a.wild.example")] as CFArray)
        #expect(trust.status() == errSecSuccess)
    }

    @Test func `an error names the certificate and has all reasons beneath`() throws {
        let error = try #require(
            try TrustSamples.trust(
                Self.chain, anchors: ["root"], policy: TrustSamples.server("other.example"),
                at: TrustSamples.laterDate
            ).failure())
        #expect(error.domain == NSOSStatusErrorDomain)
        #expect(error.localizedDescription == "“www.example.com” certificate name does not match input")
        let underlying = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(underlying.code == Int(errSecHostNameMismatch))
        #expect(
            underlying.localizedDescription
                == "Certificate 0 “www.example.com” has errors: it has other names, it is not valid any more;")
    }

    @Test func `a certificate that is cut off or changed is not trusted`() throws {
        let (leaf, root) = (try TrustSamples.data("leaf.der"), try TrustSamples.certificate("root"))
        let intermediate = try TrustSamples.certificate("intermediate")
        for index in leaf.indices {
            var changed = leaf
            changed[index] ^= 0x20
            guard let certificate = SecCertificateCreateWithData(nil, changed as CFData) else { continue }
            var trust: SecTrust?
            SecTrustCreateWithCertificates([certificate, intermediate] as CFArray, nil, &trust)
            let made = try #require(trust)
            SecTrustSetAnchorCertificates(made, [root] as CFArray)
            SecTrustSetVerifyDate(made, TrustSamples.date as CFDate)
            #expect(made.status() != errSecSuccess, "byte \(index)")
            #expect(SecTrustGetCertificateCount(made) >= 1)
        }
    }

    @Test func `a setter changes the result`() throws {
        let trust = try TrustSamples.trust(Self.chain, anchors: [])
        #expect(trust.status() == errSecCreateChainFailed)
        SecTrustSetAnchorCertificates(trust, [try TrustSamples.certificate("root")] as CFArray)
        #expect(trust.status() == errSecSuccess)
        SecTrustSetVerifyDate(trust, TrustSamples.laterDate as CFDate)
        #expect(SecTrustGetVerifyTime(trust) == TrustSamples.laterDate.timeIntervalSinceReferenceDate)
        #expect(trust.status() == errSecCertificateExpired)
        for seconds in [Double.nan, -.infinity, .infinity, -1e300, 1e300] {
            SecTrustSetVerifyDate(trust, NSDate(timeIntervalSinceReferenceDate: seconds))
            #expect(trust.status() == errSecCertificateExpired)
        }
        SecTrustSetVerifyDate(trust, TrustSamples.date as CFDate)
        SecTrustSetAnchorCertificatesOnly(trust, false)
        #expect(trust.status() == errSecSuccess)
        SecTrustSetAnchorCertificates(trust, nil)
        var anchors: CFArray?
        SecTrustCopyCustomAnchorCertificates(trust, &anchors)
        #expect(anchors == nil && trust.status() == errSecCreateChainFailed)
        var mayFetch: DarwinBoolean = true
        SecTrustSetNetworkFetchAllowed(trust, false)
        SecTrustGetNetworkFetchAllowed(trust, &mayFetch)
        #expect(!mayFetch.boolValue)
    }

    @Test func `nothing is trusted in spite of an error`() throws {
        let trust = try TrustSamples.trust(["alone"], anchors: [])
        #expect(SecTrustCopyExceptions(trust) == nil && !SecTrustSetExceptions(trust, Data([1]) as CFData))
        let result = try #require(SecTrustCopyResult(trust) as? [String: Any])
        #expect(result[kSecTrustResultValue as String] as? UInt32 == 5)
        #expect(result[kSecTrustEvaluationDate as String] as? Date == TrustSamples.date)
        var older = SecTrustResultType.invalid
        #expect(SecTrustEvaluate(trust, &older) == errSecSuccess && older == .recoverableTrustFailure)
        #expect(SecTrustCopyKey(trust) == SecCertificateCopyKey(try TrustSamples.certificate("alone")))
        #expect(SecTrustCopyPublicKey(trust) == SecTrustCopyKey(trust) && SecTrustCopyKey(trust) != nil)
    }

    @Test func `each certificate of the chain has its title, and its reasons if it is not trusted`() throws {
        func properties(_ trust: SecTrust) throws -> [[String: String]] {
            try #require(SecTrustCopyProperties(trust) as? [[String: String]])
        }
        let trusted = try properties(try TrustSamples.trust(Self.chain, anchors: ["root"]))
        #expect(trusted.count == 3 && trusted.allSatisfy { $0["title"]?.isEmpty == false && $0["error"] == nil })
        let alone = try properties(try TrustSamples.trust(["alone"], anchors: []))
        let error = kSecPropertyTypeError as String
        #expect(alone.count == 1 && alone[0][error] == "it is signed by itself and is no anchor")
        for name in [
            kSecPolicyAppleEAP, kSecPolicyAppleIPsec, kSecPolicyAppleCodeSigning, kSecPolicyAppleIDValidation,
            kSecPolicyMacAppStoreReceipt, kSecPolicyAppleTimeStamping, kSecPolicyApplePassbookSigning,
            kSecPolicyApplePayIssuerEncryption,
        ] { #expect(SecPolicyCreateWithProperties(name, nil) == nil) }
    }

    @Test func `an answer comes on the caller's queue`() async throws {
        let queue = DispatchQueue(label: "of the caller")
        let key = DispatchSpecificKey<Int>()
        queue.setSpecific(key: key, value: 7)
        let trust = try TrustSamples.trust(Self.chain, anchors: ["root"])
        let result = await withCheckedContinuation { continuation in
            SecTrustEvaluateAsync(trust, queue) { _, result in
                continuation.resume(returning: (result, DispatchQueue.getSpecific(key: key)))
            }
        }
        #expect(result == (.unspecified, 7))
        SecTrustSetAnchorCertificates(trust, [] as CFArray)
        let failure = await withCheckedContinuation { continuation in
            SecTrustEvaluateAsyncWithError(trust, queue) { _, isTrusted, error in
                continuation.resume(returning: (isTrusted, error?.code, DispatchQueue.getSpecific(key: key)))
            }
        }
        #expect(failure == (false, Int(errSecCreateChainFailed), 7))
    }

    @Test func `many threads get one answer`() throws {
        let trust = try TrustSamples.trust(Self.chain, anchors: ["root"])
        try atOnce(16) { index in
            if index % 4 == 0 { SecTrustSetNetworkFetchAllowed(trust, index % 8 == 0) }
            #expect(trust.status() == errSecSuccess)
        }
    }

    @Test func `the system's anchors are those of its directory`() async {
        await #expect(processExitsWith: .success) {
            setenv("SSL_CERT_DIR", Vectors.directory + "/trust/hashed", 1)
            setenv("SSL_CERT_FILE", "/nonexistent", 1)
            let trust = try TrustSamples.trust(["leaf", "intermediate"], anchors: nil)
            #expect(trust.status() == errSecSuccess && SecTrustGetCertificateCount(trust) == 3)
            SecTrustSetAnchorCertificates(trust, [try TrustSamples.certificate("alone")] as CFArray)
            #expect(trust.status() == errSecCreateChainFailed)
            SecTrustSetAnchorCertificatesOnly(trust, false)
            #expect(trust.status() == errSecSuccess)
        }
    }

    @Test func `the system's anchors are those of its file as well`() async {
        await #expect(processExitsWith: .success) {
            setenv("SSL_CERT_DIR", "/nonexistent", 1)
            setenv("SSL_CERT_FILE", Vectors.directory + "/trust/root.pem", 1)
            let trust = try TrustSamples.trust(["leaf", "intermediate"], anchors: nil)
            #expect(trust.status() == errSecSuccess && SecTrustGetCertificateCount(trust) == 3)
            SecTrustSetAnchorCertificates(trust, [] as CFArray)
            #expect(trust.status() == errSecCreateChainFailed)
        }
    }

    @Test func `policies are what their properties say`() throws {
        let server = SecPolicyCreateSSL(true, "host" as CFString), client = SecPolicyCreateSSL(false, nil)
        let revocation = try #require(SecPolicyCreateRevocation(kSecRevocationUseAnyAvailableMethod))
        for policy in [SecPolicyCreateBasicX509(), server, client, revocation] {
            let properties = try #require(SecPolicyCopyProperties(policy))
            let identifier = try #require(properties[kSecPolicyOid] as? NSString)
            #expect(SecPolicyCreateWithProperties(identifier, properties) == policy)
        }
        let properties = SecPolicyCopyProperties(client) as? [String: Any]
        #expect(properties?["SecPolicyOid"] as? String == "1.2.840.113635.100.1.3")
        #expect(properties?["SecPolicyClient"] as? Bool == true && properties?["SecPolicyName"] == nil)
        #expect(SecPolicyCreateRevocation(0) == nil)
        for (identifier, properties) in [
            (kSecPolicyAppleSMIME, [:]), ("1.2.3" as CFString, [:]), (5 as NSNumber, [:]),
            (kSecPolicyAppleSSL, [kSecPolicyName: 5]), (kSecPolicyAppleSSL, [kSecPolicyClient: "yes"]),
            (kSecPolicyAppleRevocation, [:]),
        ] as [(CFTypeRef, [CFString: Any])] {
            #expect(SecPolicyCreateWithProperties(identifier, properties as CFDictionary) == nil)
        }
        #expect(server != client && server != SecPolicyCreateSSL(true, nil))
    }
}
