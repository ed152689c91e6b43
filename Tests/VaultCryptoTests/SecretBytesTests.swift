// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import TestSupport
import Testing

@testable import VaultCrypto

struct SecretBytesTests {
    @Test func `reading past a large secret kills the process`() async {
        await #expect(processExitsWith: .signal(SIGSEGV)) {
            let secret = try SecretBytes(zeroed: 100_000)
            let byte = secret.withPointer { $0.advanced(by: 100_000 + 64).pointee }
            exit(Int32(byte))
        }
    }

    @Test func `writing past a small secret is found when it goes`() async {
        await #expect(processExitsWith: .failure) {
            let secret = try SecretBytes(zeroed: 40)
            secret.withPointer { $0.advanced(by: 41).pointee = 1 }
        }
    }

    @Test func `a secret begins as zeros and holds what it is given`() throws {
        #expect(try SecretBytes(zeroed: 70).exposed == [UInt8](repeating: 0, count: 70))
        let bytes: [UInt8] = (0..<200).map { UInt8($0) }
        #expect(try SecretBytes(copying: bytes.span).exposed == bytes)
        #expect(try SecretBytes(copying: bytes.span).copy(of: 3..<9).exposed == Array(bytes[3..<9]))
        #expect(try SecretBytes(zeroed: 0).exposed.isEmpty)
    }

    @Test func `a part of a secret lies where the whole did, and all of it is wiped`() throws {
        let bytes: [UInt8] = (0..<200).map { UInt8($0) + 1 }
        let neighbour = try SecretBytes(zeroed: 32)
        var address: UnsafeMutablePointer<UInt8>?
        do {
            let whole = try SecretBytes(copying: bytes.span)
            whole.withPointer { address = $0 }
            let part = whole.narrowed(to: 3..<150).narrowed(to: 1..<6)
            #expect(part.exposed == Array(bytes[4..<9]))
            part.withPointer { #expect($0 == address! + 4) }
        }
        #expect((0..<200).allSatisfy { address![$0] == 0 })
        #expect(try SecretBytes(zeroed: 200).narrowed(to: 7..<7).exposed.isEmpty)
        #expect(neighbour.count == 32)
    }

    @Test func `a released secret is wiped`() throws {
        var address: UnsafeMutablePointer<UInt8>?
        // A neighbouring secret keeps the region mapped.
        let neighbour = try SecretBytes(zeroed: 32)
        do {
            let secret = try SecretBytes(copying: [UInt8](repeating: 0xAB, count: 48).span)
            secret.withPointer { address = $0 }
        }
        let after = (0..<48).map { address![$0] }
        #expect(!after.contains(0xAB))
        #expect(neighbour.count == 32)
    }

    @Test func `five thousand secrets at once lie in locked memory`() throws {
        // With a sodium_malloc for each, only the first 2,047 would be locked at a limit of 8 MiB.
        let before = SecretBytes.unlockedByteCount
        var kept: [Secret] = []
        for index in 0..<5000 {
            kept.append(try Secret(bytes: [UInt8](repeating: UInt8(index % 251), count: 1 + index % 200)))
        }
        for (index, secret) in kept.enumerated() {
            #expect(secret.exposed == [UInt8](repeating: UInt8(index % 251), count: 1 + index % 200))
        }
        #expect(SecretBytes.unlockedByteCount == before)
    }

    @Test func `the memory of secrets is in no core dump and in no child`() throws {
        let secret = try SecretBytes(random: 32)
        var flags = ""
        let address = secret.withPointer { UInt(bitPattern: $0) }
        let maps = try String(contentsOf: "/proc/self/smaps")
        var isInside = false
        for line in maps.split(separator: "\n") {
            let range = line.split(separator: " ").first.map { $0.split(separator: "-") } ?? []
            if range.count == 2, let low = UInt(range[0], radix: 16), let high = UInt(range[1], radix: 16) {
                isInside = low <= address && address < high
            }
            if isInside, line.hasPrefix("VmFlags:") { flags = String(line) }
        }
        #expect(flags.contains(" dd"), "MADV_DONTDUMP")
        #expect(flags.contains(" dc"), "MADV_DONTFORK")
        #expect(flags.contains(" lo") || SecretBytes.unlockedByteCount > 0, "mlock")
    }
}

extension String {
    /// Reads a whole file that reports no size, such as a file below /proc.
    init(contentsOf path: String) throws {
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        self = String(decoding: bytes, as: UTF8.self)
    }

    @Test func `keys that are kept apart are out of the kernel's reach, where it has such memory`() async {
        await #expect(processExitsWith: .success) {
            SecretBytes.keepsKeysApart = true
            let key = try SecretBytes(copying: Array("a key of 16 byte".utf8).span).keptApart()
            let other = try key.copy()
            guard key.withBytes({ a in other.withBytes { isEqualInConstantTime(a, $0) } }) else { exit(10) }
            // memfd_secret(2) itself reports whether the kernel supports it.
            guard clinux_map_secret(clinux_map(4096), 4096) == 0 else { exit(0) }
            let memory = open("/proc/self/mem", O_RDONLY)
            guard memory >= 0 else { exit(0) }
            func isReadable(_ secret: borrowing SecretBytes) -> Bool {
                secret.withBytes { bytes in
                    bytes.withUnsafeBytes { buffer in
                        var byte: UInt8 = 0
                        return pread(memory, &byte, 1, off_t(UInt(bitPattern: buffer.baseAddress))) == 1
                    }
                }
            }
            guard isReadable(other) else { exit(11) }
            guard !isReadable(key) else { exit(12) }
        }
    }
}
