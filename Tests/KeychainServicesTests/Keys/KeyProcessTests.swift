// SPDX-License-Identifier: Apache-2.0
import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import KeychainServices

/// Properties of the whole process: loading libcrypto, and failing without it.
struct KeyProcessTests {
    private static func isLoaded() throws -> Bool {
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd() ?? Data()
        return String(decoding: maps, as: UTF8.self).contains("libcrypto.so")
    }

    @Test func `what never touches a key loads no libcrypto`() async {
        await #expect(processExitsWith: .success) {
            try bindEmptyVault()
            let item: [String: Any] = ["class": "genp", "acct": "a", "v_Data": Data("x".utf8)]
            guard SecItemAdd(item as CFDictionary, nil) == errSecSuccess,
                SecItemCopyMatching(["class": "genp", "r_Data": true] as CFDictionary, nil) == errSecSuccess,
                SecItemCopyMatching(["class": "idnt"] as CFDictionary, nil) == errSecItemNotFound,
                try !Self.isLoaded()
            else { exit(10) }
            guard SecKeyCreateRandomKey(["type": "73", "bsiz": 256] as CFDictionary, nil) != nil, try Self.isLoaded()
            else { exit(11) }
        }
    }

    @Test func `a host's own configuration of libcrypto changes nothing here`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let file = directory.path.appending("openssl.cnf").string
            let text = """
                openssl_conf = init
                [init]
                providers = all
                alg_section = rules
                [all]
                null = none
                [none]
                activate = 1
                [rules]
                default_properties = fips=yes
                """
            try Data(text.utf8).write(to: URL(filePath: file))
            setenv("OPENSSL_CONF", file, 1)
            guard let key = SecKeyCreateRandomKey(["type": "42", "bsiz": 1024] as CFDictionary, nil),
                SecKeyCreateSignature(key, .rsaSignatureMessagePSSSHA256, Data() as CFData, nil) != nil
            else { exit(10) }
        }
    }
}
