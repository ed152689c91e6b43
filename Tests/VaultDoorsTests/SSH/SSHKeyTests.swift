// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport
import Testing
import VaultCrypto
import VaultFormat

@testable import VaultSSHAgent

/// Keys, certificates and signatures in OpenSSH's formats.
struct SSHKeyTests {
    private func refusal(_ body: () throws -> Void) -> SSHRefusal? {
        do {
            try body()
            return nil
        } catch { return error as? SSHRefusal }
    }

    /// Returns a request that adds a key, with the strings of its numbers changed.
    private func changed(_ name: String, _ change: (inout [[UInt8]]) throws -> Void) throws -> [UInt8] {
        var buffer = try SecretBuffer()
        try SSHSamples.key(name).put(to: &buffer)
        let bytes = try buffer.bytes().exposed
        var reader = SSHReader(bytes.span)
        var strings: [[UInt8]] = []
        while !reader.isAtEnd { strings.append(try reader.data(bytes.span)) }
        try change(&strings)
        var request: [UInt8] = []
        for string in strings { request.put(bytes: string) }
        return request
    }

    private func read(_ bytes: [UInt8]) throws -> SSHPrivateKey {
        var reader = SSHReader(bytes.span)
        var certificate: SSHCertificate?
        let key = try SSHPrivateKey(&reader, bytes.span, certificate: &certificate)
        try reader.finish()
        return key
    }

    // MARK: Refusals

    @Test func `an Ed25519 key with another public half is refused, wherever that stands`() throws {
        let other = Array(try SSHSamples.blob("authority.pub").suffix(32))
        #expect(refusal { _ = try read(changed("ed25519") { $0[1] = other }) } == .untrue)
        #expect(refusal { _ = try read(changed("ed25519") { $0[2] = $0[2][..<32] + other }) } == .untrue)
        #expect(
            refusal {
                _ = try read(
                    changed("ed25519") {
                        $0[1] = other
                        $0[2] = $0[2][..<32] + other
                    })
            } == .untrue)
        #expect(refusal { _ = try read(changed("ed25519") { $0[2].removeLast() }) } == .malformed)
    }

    @Test(arguments: ["ecdsa256", "ecdsa384", "ecdsa521"])
    func `a key of a curve is refused when its parts disagree, or it is no point`(name: String) throws {
        #expect(refusal { _ = try read(changed(name) { $0[3][5] ^= 1 }) } == .untrue)
        #expect(refusal { _ = try read(changed(name) { $0[2][9] ^= 1 }) } == .untrue)
        #expect(refusal { _ = try read(changed(name) { $0[2][0] = 2 }) } == .malformed)
        #expect(refusal { _ = try read(changed(name) { $0[1] = Array("nistp111".utf8) }) } == .malformed)
        #expect(refusal { _ = try read(changed(name) { $0[3] = [] }) } == .malformed)
        #expect(refusal { _ = try read(changed(name) { $0[3] = [1] }) } == .untrue)
    }

    @Test func `an RSA key is refused when it is short, or its parts disagree`() throws {
        #expect(refusal { _ = try SSHSamples.key("rsa1024") } == .untrue)
        // n, e, d, iqmp, p, q
        for index in 1...6 {
            #expect(refusal { _ = try read(changed("rsa2048") { $0[index][$0[index].count - 2] ^= 2 }) } == .untrue)
        }
        #expect(refusal { _ = try read(changed("rsa2048") { $0[2] = [1, 0, 0] }) } == .untrue)
        #expect(refusal { _ = try read(changed("rsa2048") { $0[2] = [1] }) } == .untrue)
        #expect(refusal { _ = try read(changed("rsa2048") { $0[2] = [1] + [UInt8](repeating: 1, count: 8) }) } != nil)
        #expect(refusal { _ = try read(changed("rsa2048") { $0.swapAt(5, 6) }) } == .untrue)
        #expect(refusal { _ = try read(changed("rsa2048") { $0[1] = $0[1] + $0[1] + $0[1] }) } == .untrue)
    }

    @Test func `a number that another one is written as is refused`() throws {
        #expect(refusal { _ = try read(changed("rsa2048") { $0[2] = [0] + $0[2] }) } == .malformed)
        #expect(refusal { _ = try read(changed("rsa2048") { $0[1].removeFirst() }) } == .malformed)
        #expect(refusal { _ = try read(changed("ecdsa256") { $0[3] = [0, 0] + $0[3] }) } == .malformed)
    }

    @Test func `kinds of keys that this agent does not sign with are unsupported`() throws {
        for type in ["ssh-dss", "sk-ssh-ed25519@openssh.com", "ssh-ed448", "", "ssh-dss-cert-v01@openssh.com"] {
            var blob: [UInt8] = []
            blob.put(type)
            blob.put(string: [UInt8](repeating: 1, count: 32).span)
            #expect(refusal { _ = try SSHKeyName(bytes: blob) } != nil, "\(type)")
        }
        #expect(refusal { _ = try SSHSamples.key("encrypted") } == .unsupported)
    }

    @Test func `a key that a security key holds is refused for what it is, and for nothing else is a reason reported`()
        throws
    {
        func add(_ type: String) -> [UInt8] {
            var frame: [UInt8] = [17]
            frame.put(type)
            for part in [[UInt8](repeating: 1, count: 32), Array("ssh:".utf8)] { frame.put(string: part.span) }
            return frame
        }
        let types = [
            "sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com", "sk-ssh-ed25519-cert-v01@openssh.com",
            "ssh-dss",
        ]
        let reported = Mutex<[SSHRefusal]>([])
        let person = TestPerson(FakeKeyring())
        let agent = SSHAgent(nil, person, keepsKeys: false, clock: person.clock) { refusal in
            reported.withLock { $0.append(refusal) }
        }
        var session = SSHSession(SSHWorld.client)
        for type in types { #expect(agent.answer(add(type).span, &session) == [5]) }
        #expect(reported.withLock(\.self) == [.securityKey, .securityKey, .securityKey, .unsupported])
    }

    @Test func `nothing follows a key, a certificate or a signature`() throws {
        for name in ["ed25519.pub", "ecdsa256.pub", "rsa2048.pub", "ed25519-cert.pub", "rsa2048-cert.pub"] {
            #expect(refusal { _ = try SSHKeyName(bytes: SSHSamples.blob(name) + [0]) } == .malformed)
            for count in 0..<(try SSHSamples.blob(name).count) {
                #expect(refusal { _ = try SSHKeyName(bytes: Array(SSHSamples.blob(name)[..<count])) } != nil)
            }
        }
    }

    @Test func `a certificate that its authority has not signed is refused`() throws {
        let blob = try SSHSamples.blob("ed25519-cert.pub")
        for index in blob.indices {
            var other = blob
            other[index] ^= 1
            guard let certificate = try? SSHCertificate(bytes: other) else { continue }
            #expect(refusal { try certificate.verify() } != nil, "\(index)")
        }
    }

    @Test(arguments: SSHSamples.keys) func `no byte of a signature or its message can change`(name: String) throws {
        let key = try SSHSamples.name(name + ".pub").key
        for (_, flags, signature) in try SSHSamples.signatures().filter({ $0.key == name }) {
            let isSHA1 = name.hasPrefix("rsa") && flags == 0
            #expect((refusal { try key.verify(signature, of: SSHSamples.message) } == nil) == !isSHA1)
            for index in signature.indices {
                var other = signature
                other[index] ^= 1
                #expect(refusal { try key.verify(other, of: SSHSamples.message) } != nil, "\(index)")
            }
            #expect(refusal { try key.verify(signature, of: Array(SSHSamples.message[1..<9])) } != nil)
            #expect(refusal { try key.verify(signature + [0], of: SSHSamples.message) } != nil)
        }
    }

    // MARK: Accepted keys

    @Test(arguments: SSHSamples.keys) func `a key of OpenSSH's is read, and written again byte by byte`(
        name: String
    ) throws {
        let file = try SSHSamples.file(name)
        let key = try SSHPrivateKey.read(bytes: file)
        #expect(key.publicKey.blob == (try SSHSamples.blob(name + ".pub")))
        // The comment and the check number are in the encoded part.
        let text = String(decoding: file, as: UTF8.self).split(separator: "\n").dropFirst().dropLast().joined()
        let bytes = Array(try #require(Data(base64Encoded: text)))
        var reader = SSHReader(15..<bytes.count)
        for _ in 0..<3 { _ = try reader.string(bytes.span) }
        _ = try reader.number(bytes.span)
        _ = try reader.string(bytes.span)
        var inner = SSHReader(try reader.string(bytes.span))
        let check = try inner.number(bytes.span)
        let comment = String(decoding: try SSHSamples.file(name + ".pub"), as: UTF8.self).split(
            separator: " ", maxSplits: 2)[2].dropLast()
        #expect(try key.file(comment: String(comment), check: check).exposed == file)
    }

    @Test(arguments: SSHSamples.keys) func `what a key signs its public key verifies`(name: String) throws {
        let key = try SSHSamples.key(name)
        for flags in [.sha256, .sha512] as [SSHPrivateKey.Flags] {
            for length in [0, 1, 31, 1000] {
                let message = [UInt8](repeating: 7, count: length)
                let signature = try key.sign(message, flags)
                #expect(refusal { try key.publicKey.verify(signature, of: message) } == nil)
            }
        }
    }

    @Test func `a fingerprint is that of ssh-keygen`() throws {
        let name = try SSHSamples.name("ed25519.pub")
        #expect(try name.key.fingerprint() == "SHA256:6qXDKf6vyOVBXaHO61kbFBFLoan3Otd9O9cCiqBDgWA")
        #expect(try SSHSamples.name("ed25519-cert.pub").key == name.key)
        #expect(try SSHSamples.name("rsa3072.pub").key.size.bits == 3072)
    }

    @Test(arguments: [
        ("a", "a", true), ("a", "b", false), ("", "", true), ("", "*", true), ("abc", "*", true), ("abc", "a*c", true),
        ("abc", "a?c", true), ("abc", "a?", false), ("abc", "*b*", true), ("aab", "*ab", true), ("abc", "", false),
        ("a.example.com", "*.example.com", true), ("example.com", "*.example.com", false), ("A", "a", false),
    ])
    func `a pattern matches as ssh_config has it`(text: String, pattern: String, isMatch: Bool) {
        #expect(SSHPattern.matches(text, pattern) == isMatch)
    }

    @Test func `a pattern of stars takes no time of its own`() {
        let text = String(repeating: "a", count: 2000)
        #expect(!SSHPattern.matches(text, String(repeating: "*a", count: 1000) + "b"))
    }

    // MARK: Mutations

    @Test func `of changed bytes comes a refusal, or what would be written`() throws {
        let random = SeededRandom("ssh keys")
        let blobs = try (SSHSamples.keys.map { $0 + ".pub" } + SSHSamples.certified.map { $0 + "-cert.pub" }).map {
            try SSHSamples.blob($0)
        }
        for _ in 0..<6000 {
            let bytes = random.mutated(random.element(of: blobs))
            if let name = try? SSHKeyName(bytes: bytes) { #expect(name.blob == bytes) }
        }
        let files = try SSHSamples.keys.filter { !$0.hasPrefix("rsa") }.map { try SSHSamples.file($0) }
        for _ in 0..<1000 {
            let bytes = random.mutated(random.element(of: files))
            guard let key = try? SSHPrivateKey.read(bytes: bytes) else { continue }
            let again = try SSHPrivateKey.read(bytes: key.file(comment: "", check: 1).exposed)
            #expect(again.publicKey == key.publicKey)
        }
    }
}

extension SeededRandom {
    /// Returns the bytes with a few of them changed, removed or inserted.
    func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<number(in: 1...4) {
            guard !bytes.isEmpty else { return self.bytes(4) }
            let index = number(in: 0...bytes.count - 1)
            switch number(in: 0...5) {
            case 0: bytes.remove(at: index)
            case 1: bytes.insert(self.bytes(1)[0], at: index)
            case 2: bytes.removeSubrange(index..<min(index + number(in: 1...40), bytes.count))
            case 3: bytes.replaceSubrange(index..<min(index + 4, bytes.count), with: [255, 255, 255, 255])
            default: bytes[index] ^= 1 << UInt8(number(in: 0...7))
            }
        }
        return bytes
    }
}
