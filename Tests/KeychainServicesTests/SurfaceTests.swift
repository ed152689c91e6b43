// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices
import SecItemCases
import Testing

/// Tests of declarations, without a vault.
struct SurfaceTests {
    @Test func `statuses and keys have Apple's values`() {
        let statuses: [(OSStatus, Int)] = [
            (errSecSuccess, 0), (noErr, 0), (errSecUnimplemented, -4), (errSecUnsupportedOperation, -4),
            (errSecDskFull, -34), (errSecDiskFull, -34), (errSecIO, -36),
            (errSecParam, -50),
            (errSecItemIllegalQuery, -50), (errSecAllocate, -108), (errSecUserCanceled, -128),
            (errSecInternalComponent, -2070),
            (errSecNotAvailable, -25291), (errSecReadOnly, -25292), (errSecAuthFailed, -25293),
            (errSecDuplicateItem, -25299),
            (errSecItemNotFound, -25300), (errSecDataTooLarge, -25302), (errSecNoSuchAttr, -25303),
            (errSecNoSuchClass, -25306),
            (errSecInteractionNotAllowed, -25308), (errSecReadOnlyAttr, -25309), (errSecDecode, -26275),
            (errSecInternal, -26276),
            (errSecMissingEntitlement, -34018), (errSecUpgradePending, -34019), (errSecRestrictedAPI, -34020),
            (errSecServiceNotAvailable, -67585), (errSecInvalidEncoding, -67853),
            (errSecMissingQualifiedCertStatement, -67904),
        ]
        for (status, value) in statuses { #expect(Int(status) == value) }
        let keys: [(CFString, String)] = [
            (kSecClass, "class"), (kSecClassGenericPassword, "genp"), (kSecClassIdentity, "idnt"),
            (kSecAttrAccessible, "pdmn"),
            (kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, "akpu"), (kSecAttrSynchronizableAny, "syna"),
            (kSecMatchLimitAll, "m_LimitAll"),
            (kSecReturnPersistentRef, "r_PersistentRef"), (kSecUseDataProtectionKeychain, "nleg"),
            (kSecUseAuthenticationUISkip, "u_AuthUIS"),
            (kSecAttrProtocolFTP, "ftp "), (kSecAttrProtocolSOCKS, "sox "), (kSecAttrKeyTypeECSECPrimeRandom, "73"),
            (kSecAttrKeyClassPrivate, "1"), (kSecAttrAccessGroupToken, "com.apple.token"), (kSecValueData, "v_Data"),
        ]
        for (key, value) in keys { #expect(key as String == value) }
    }

    @Test func `every status that Apple names has a message of its own, and others their number`() {
        let named = [
            0, -4, -34, -36, -49, -50, -61, -108, -128, -909, -2070, -4960, -26267, -26275, -26276, -34018, -34019,
            -34020,
        ]
        let all = named + Array(-25264 ... -25256) + Array(-25320 ... -25291) + Array(-67904 ... -67585)
        let messages = all.map { SecCopyErrorMessageString(OSStatus($0), nil) as String? ?? "" }
        #expect(messages.allSatisfy { !$0.isEmpty && !$0.hasPrefix("OSStatus") })
        #expect(Set(messages).count == all.count)
        #expect(SecCopyErrorMessageString(-67613, nil)! as String == "CRL expired (errSecCRLExpired)")
        #expect(
            SecCopyErrorMessageString(-67767, nil)! as String
                == "Missing attribute output size (errSecMissingAttributeOutputSize)")
        for unknown in [1, -1, -67584, -67905, Int(OSStatus.min), Int(OSStatus.max)] {
            #expect(SecCopyErrorMessageString(OSStatus(unknown), nil)! as String == "OSStatus \(unknown)")
        }
    }

    @Test func `random bytes fill what they are given and no more`() {
        var bytes = [UInt8](repeating: 0, count: 64)
        #expect(SecRandomCopyBytes(kSecRandomDefault, 32, &bytes) == errSecSuccess)
        #expect(bytes[..<32].contains { $0 != 0 } && bytes[32...].allSatisfy { $0 == 0 })
        #expect(SecRandomCopyBytes(nil, 0, &bytes) == errSecSuccess)
        #expect(SecRandomCopyBytes(nil, -1, &bytes) == errSecParam)
        var data = Data(count: 16)
        let status = data.withUnsafeMutableBytes { SecRandomCopyBytes(kSecRandomDefault, 16, $0.baseAddress!) }
        #expect(status == errSecSuccess && data != Data(count: 16))
    }

    @Test func `an access control is made of a protection and flags that go together`() throws {
        let possible: [SecAccessControlCreateFlags] = [
            [], .userPresence, [.userPresence, .applicationPassword, .privateKeyUsage], .biometryCurrentSet,
            [.biometryAny, .devicePasscode, .or],
            [.biometryAny, .devicePasscode, .companion, .and, .applicationPassword],
        ]
        for flags in possible {
            #expect(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil) != nil)
        }
        let impossible: [SecAccessControlCreateFlags] = [
            [.or, .and], [.biometryAny, .biometryCurrentSet], [.userPresence, .biometryAny],
            [.userPresence, .devicePasscode],
        ]
        for flags in impossible {
            var error: Unmanaged<CFError>?
            #expect(
                SecAccessControlCreateWithFlags(kCFAllocatorDefault, kSecAttrAccessibleWhenUnlocked, flags, &error)
                    == nil)
            let refusal = try #require(error?.takeRetainedValue())
            #expect(
                CFErrorGetCode(refusal) == Int(errSecParam)
                    && CFErrorGetDomain(refusal) as String == NSOSStatusErrorDomain)
        }
        for protection in ["bogus" as CFString, 5 as NSNumber, NSNull()] as [CFTypeRef] {
            #expect(SecAccessControlCreateWithFlags(nil, protection, [], nil) == nil)
        }
    }

    @Test func `a certificate is its DER, and nothing else is one`() throws {
        let certificate = try #require(SecCertificateCreateWithData(nil, Samples.certificate as CFData))
        #expect(SecCertificateCopyData(certificate) as Data == Samples.certificate)
        #expect(certificate == SecCertificateCreateWithData(kCFAllocatorDefault, Samples.certificate as CFData))
        for end in 0..<Samples.certificate.count {
            #expect(SecCertificateCreateWithData(nil, Samples.certificate.prefix(end) as CFData) == nil)
        }
        let more = Samples.certificate + [0]
        let hugeLength = Data([0x30, 0x84, 0xff, 0xff, 0xff, 0xff]) + Samples.certificate
        let longForm = Data([0x30, 0x83, 0x00]) + Samples.certificate.dropFirst(2)
        for bytes in [more, hugeLength, longForm, Data("-----BEGIN CERTIFICATE-----".utf8), Data()] {
            #expect(SecCertificateCreateWithData(nil, bytes as CFData) == nil)
        }
    }

    @Test func `types have identifiers of their own`() {
        #expect(
            CFGetTypeID("x" as NSString) == CFStringGetTypeID() && CFGetTypeID(kCFBooleanTrue) == CFBooleanGetTypeID())
        #expect(CFGetTypeID(1 as NSNumber) == CFNumberGetTypeID() && CFGetTypeID(Data() as NSData) == CFDataGetTypeID())
        #expect(
            CFGetTypeID(SecCertificateCreateWithData(nil, Samples.certificate as CFData)) == SecCertificateGetTypeID())
    }

    @Test func `data made of lent bytes outlives them, and of bytes given away owns them`() throws {
        #expect(CFDataCreateWithBytesNoCopy(nil, [1], -1, kCFAllocatorNull) == nil)
        #expect(CFDataCreateWithBytesNoCopy(nil, nil, 0, kCFAllocatorNull) == NSData())
        var key: [UInt8] = [1, 2, 3]
        let lent = key.withUnsafeMutableBytes { bytes in
            let start = UnsafePointer(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            let data = CFDataCreateWithBytesNoCopy(nil, start, bytes.count, kCFAllocatorNull)
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            return data as NSData? as Data?
        }
        #expect(lent == Data([1, 2, 3]))
        let given = try #require(malloc(1)).assumingMemoryBound(to: UInt8.self)
        given.pointee = 4
        #expect(CFDataCreateWithBytesNoCopy(nil, given, 1, kCFAllocatorDefault) as Data? == Data([4]))
    }

    @Test func `an error is made of a domain, a code and what more there is to say`() throws {
        let error = try #require(
            CFErrorCreate(nil, kCFErrorDomainOSStatus, -50, [NSLocalizedDescriptionKey: "no"] as CFDictionary))
        #expect(CFErrorGetDomain(error) == kCFErrorDomainOSStatus && CFErrorGetCode(error) == -50)
        #expect(CFErrorCopyDescription(error) == "no")
        #expect((CFErrorCreate(nil, "d" as NSString, 1, nil) as any Error as NSError).userInfo.isEmpty)
    }

    @Test func `a creator is a code of four characters`() {
        let creator: FourCharCode = 0x7661_6C74
        #expect([kSecAttrCreator as String: NSNumber(value: creator)]["crtr"]?.uint32Value == OSType(0x7661_6C74))
    }

    @Test func `a password for the browser has Apple's form, and no two are equal`() throws {
        let passwords = try (0..<200).map { _ in try #require(SecCreateSharedWebCredentialPassword() as String?) }
        #expect(Set(passwords).count == 200)
        for password in passwords {
            #expect(password.wholeMatch(of: /([A-Za-z0-9]{3}-){3}[A-Za-z0-9]{3}/) != nil)
            for kind in [/[A-Z]/, /[a-z]/, /[0-9]/] { #expect(password.firstMatch(of: kind) != nil) }
        }
    }

    @Test func `credentials of associated domains are refused, once and with a status`() async {
        let added = await withCheckedContinuation { continuation in
            SecAddSharedWebCredential("example.org", "ada", "secret") { continuation.resume(returning: $0?.code) }
        }
        let requested = await withCheckedContinuation { continuation in
            SecRequestSharedWebCredential(nil, nil) { credentials, error in
                continuation.resume(returning: credentials == nil ? error?.code : nil)
            }
        }
        #expect([added, requested] == [-4, -4])
    }
}
