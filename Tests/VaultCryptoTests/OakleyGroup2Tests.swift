// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultCrypto

/// The expected numbers were computed with Python's integers and the prime as printed in RFC 2409.
struct OakleyGroup2Tests {
    private static let exponent = (1...128).map { UInt8($0) }
    private static let peer = [UInt8](
        hexadecimal: """
            60e95edbabac33d0f1c1dfa9ba25dee3fe4780349abfdc7464cefa211482211d
            891a530085f74049de43d9b1ded999fdbc79e36834e4dce76d51c1d03a3de0f0
            4a63fd10e4dc86a1931fe5c6535cbaf188f56dbae22965129098d265d10216f2
            e4099e9f0ae283e8905f6fd60e4b4704f66e7027f3ea00f695d13dcc6aa919fc
            """)
    /// A public key whose shared secret begins with a zero byte; the key itself begins with seven.
    private static let smallPeer = [UInt8](
        hexadecimal: """
            0000000000000036f0255dde973dcb3b399d747f23e32ed6fdb1f77598338bfd
            f44159c4ec64ddaeb5f78671cbfb22106ae64c32c5bce4cfd4f5920da0ebc8b0
            1eca9292ae3dba1b7a4a899da181390bb3bd1659c81294f400a3490bf9481211
            c79404a576605a5160dbee83b4e019b6d799ae1319ac7e000000000000000100
            """)
    /// The prime minus 1.
    private static let last = [UInt8](
        hexadecimal: """
            ffffffffffffffffc90fdaa22168c234c4c6628b80dc1cd129024e088a67cc74
            020bbea63b139b22514a08798e3404ddef9519b3cd3a431b302b0a6df25f1437
            4fe1356d6d51c245e485b576625e7ec6f44c42e9a637ed6b0bff5cb6f406b7ed
            ee386bfb5a899fa5ae9f24117c4b1fe649286651ece65381fffffffffffffffe
            """)

    private func group() throws -> OakleyGroup2 {
        try OakleyGroup2(exponent: SecretBytes(copying: Self.exponent.span))
    }

    private func shared(with peer: [UInt8]) throws -> [UInt8]? { try shared(group(), peer) }

    private func shared(_ group: borrowing OakleyGroup2, _ peer: [UInt8]) throws -> [UInt8]? {
        guard let shared = try group.shared(with: peer.span) else { return nil }
        return shared.exposed
    }

    @Test func `the numbers of an exchange are those of the group`() throws {
        let publicKey = try group().publicKey
        #expect(
            publicKey
                == [UInt8](
                    hexadecimal: """
                        52893c96a07492593d36d00328ba21101c0ab104717cf1928b3890e1ecbd76e8
                        27e7ba7d589a03ef64f8f5648cea2b077409319013d832c41a04a3793eb4b73c
                        a2a36306241de180ec36f5cfbef207ba2e04a39f1384dce12b8ebe27b54dbf04
                        9be0abc80ebd4849976974b2be955c2c87ba11712576887f5b96427a1d8fb2fd
                        """))
        #expect(
            try shared(with: Self.peer)
                == [UInt8](
                    hexadecimal: """
                        9897c0c65382c63ec3a9b94fd08ea5787c4688baf190b17cef2624e4d9f5e95e
                        1b0955dbfca40e6b7862096257f339e01f1c1fdd15c2e9ba944c56b71091adbb
                        c09889779562fde3ca72bfa568e7846c19b10a83e74ecf3b93d3e98c13f89561
                        0bd113fc6db9cebd5404562bd46a712ed1dba3fbd059a2107ee2fe2d4add546d
                        """))
    }

    @Test func `a shared secret that begins with zero bytes has them`() throws {
        let expected = [UInt8](
            hexadecimal: """
                004ed28528148adbf9651fbb7eb94b8a4a9a4f6b95797f3bc2d4cf3b480aa260
                8b06061129a38624bbe8e947eff956d5734b58a67841b35a9a24f52e0ba957a0
                fd87c9a62589fd7d14762f3e302a4365924aebb5a53c15934c9779838183659b
                5c97c4111072eb05cf482317c1cb32fd65f9c6db07db027f5d6724a2138a972e
                """)
        #expect(try shared(with: Self.smallPeer) == expected)
        // As a number, without the leading zero bytes.
        #expect(try shared(with: Array(Self.smallPeer.drop { $0 == 0 })) == expected)
    }

    @Test func `two sides come to the same`() throws {
        let first = try OakleyGroup2()
        let second = try OakleyGroup2()
        let keys = [first.publicKey, second.publicKey]
        let ours = try shared(first, keys[1])
        let theirs = try shared(second, keys[0])
        #expect(keys[0] != keys[1] && ours != nil && ours == theirs)
    }

    @Test func `what would leave no secret is no public key`() throws {
        var prime = Self.last
        prime[127] = 0xff
        var beforeLast = Self.last
        beforeLast[127] = 0xfd
        let refused = [
            [], [0], [1], [UInt8](repeating: 0, count: 128), [UInt8](repeating: 0, count: 127) + [1], Self.last, prime,
            [UInt8](repeating: 0xff, count: 128), [0] + Self.peer, [UInt8](repeating: 0xff, count: 129),
        ]
        for peer in refused { #expect(try shared(with: peer) == nil, "\(peer.count) bytes") }
        #expect(try shared(with: [2]) == group().publicKey)
        #expect(try shared(with: beforeLast) != nil)
    }

    @Test func `the key is what HKDF makes of the whole of the shared secret`() throws {
        for (peer, key) in [
            (Self.peer, "6d6615ad691b1ff260fa6307955ecd2a"), (Self.smallPeer, "fcbb94a4123da8e3a71024126f40f51c"),
        ] {
            let number = try #require(try shared(with: peer))
            let shared = try SecretBytes(copying: number.span)
            #expect(try ForeignDerivation.hkdfSHA256(shared, count: 16).exposed == [UInt8](hexadecimal: key))
        }
        // RFC 5869, A.3: no salt and no info; the first 32 bytes of the output.
        let input = try SecretBytes(copying: [UInt8](repeating: 0x0b, count: 22).span)
        #expect(
            try ForeignDerivation.hkdfSHA256(input, count: 32).exposed
                == [UInt8](hexadecimal: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"))
    }
}
