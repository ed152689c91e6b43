// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import VaultCrypto

struct PrimitiveTests {
    /// Returns the content of the box; `nil` if the box does not open.
    private func open(_ box: [UInt8], _ nonce: [UInt8], _ key: Secret) -> [UInt8]? {
        let plain = try? Secret(SecretBox.open(box.span, nonce: nonce.span, key: key.bytes))
        #expect(SecretBox.opens(box.span, nonce: nonce.span, key: key.bytes) == (plain != nil))
        return plain?.exposed
    }

    @Test func `a box opens with its key alone`() throws {
        let key = try Secret(SecretBytes(random: 32))
        let other = try Secret(SecretBytes(random: 32))
        let nonce = [UInt8](repeating: 7, count: 24)
        for length in [0, 1, 31, 32, 33, 64, 1000] {
            let plain = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
            var box: [UInt8] = []
            SecretBox.seal(plain.span, nonce: nonce.span, key: key.bytes, appendingTo: &box)
            #expect(box.count == length + 16)
            #expect(open(box, nonce, key) == plain)
            #expect(open(box, nonce, other) == nil)
        }
    }

    @Test func `every changed byte of a box is refused, and every shorter box`() throws {
        let key = try Secret(SecretBytes(random: 32))
        let nonce = [UInt8](repeating: 9, count: 24)
        var box: [UInt8] = []
        SecretBox.seal(Array("forty-two".utf8).span, nonce: nonce.span, key: key.bytes, appendingTo: &box)
        for index in box.indices {
            for bit in 0..<8 {
                var changed = box
                changed[index] ^= 1 << UInt8(bit)
                #expect(open(changed, nonce, key) == nil)
            }
            #expect(open(Array(box[..<index]), nonce, key) == nil)
        }
    }

    /// The vector of the NaCl paper, as in libsodium's test `secretbox`.
    @Test func `the box of the NaCl paper is made byte for byte`() throws {
        let key = try Secret(
            bytes: [UInt8](hexadecimal: "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389"))
        let nonce = [UInt8](hexadecimal: "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
        let plain = [UInt8](
            hexadecimal: """
                be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc
                e5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb31
                0e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde
                048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f93776384864
                5e0705
                """)
        let expected = [UInt8](
            hexadecimal: """
                f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce
                48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c972
                71d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae
                90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b3
                7973f622a43d14a6599b1f654cb45a74e355a5
                """)
        var box: [UInt8] = []
        SecretBox.seal(plain.span, nonce: nonce.span, key: key.bytes, appendingTo: &box)
        #expect(box == expected)
    }

    /// RFC 7693, appendix A, is BLAKE2b-512; this is BLAKE2b-256 of the same message (Python's hashlib).
    @Test func `BLAKE2b gives the known hashes`() throws {
        #expect(
            KeyedHash.digest(Array("abc".utf8).span).bytes.span.array
                == [UInt8](hexadecimal: "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"))
        let key = try Secret(bytes: (0..<64).map { UInt8($0) })
        // The first entry of the BLAKE2 reference's keyed known answers: the empty message under the key 00 01 02 … 3f.
        let digest = try Secret(KeyedHash(key: key.bytes, outputLength: 64).secret(64)).exposed
        #expect(
            digest
                == [UInt8](
                    hexadecimal: """
                        10ebb67700b1868efb4417987acf4690ae9d972fb7a590c2f02871799aaa4786
                        b5e996e8f0f4eb981fc214b005f42d2ff4233499391653df7aefcbc13fc51568
                        """
                ))
    }

    @Test func `integers are hashed in the width of their type, lowest byte first`() {
        var integers = KeyedHash()
        integers.update(UInt32(0x0403_0201))
        integers.update(UInt64(5))
        var bytes = KeyedHash()
        bytes.update([1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0])
        let (first, second) = (integers.digest(), bytes.digest())
        #expect(first == second)
    }

    @Test func `a uniform number is below its bound`() {
        let random = SeededRandom("uniform")
        var seen = Set<UInt32>()
        for _ in 0..<500 { seen.insert(random.uniform(7)) }
        #expect(seen == Set(0..<7))
    }
}

extension Span<UInt8> {
    var array: [UInt8] { (0..<count).map { self[$0] } }
}
