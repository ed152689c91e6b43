// SPDX-License-Identifier: Apache-2.0
internal import Foundation
internal import Glibc
package import VaultCrypto

/// A secret that this process never holds in ordinary memory: only masked, and in memory for secrets.
package struct SecretMarker {
    private let masked: [UInt8]
    private static let mask: UInt8 = 0x20

    /// Makes a random marker of letters, usable as a passphrase.
    package init() { masked = SystemRandom().bytes(24).map { ($0 % 26 + 0x41) ^ SecretMarker.mask } }

    /// Makes a marker from a mask of a secret's content.
    ///
    /// - Parameter isReversed: Whether to search for the bytes in reverse order.
    package init(of secret: borrowing SecretBytes, isReversed: Bool = false) {
        let masked = secret.withBytes { bytes in bytes.indices.map { bytes[$0] ^ SecretMarker.mask } }
        self.masked = isReversed ? masked.reversed() : masked
    }

    package func secret() throws -> SecretBytes {
        var secret = try SecretBytes(zeroed: masked.count)
        secret.withMutableBytes { bytes in
            for index in masked.indices { bytes[index] = masked[index] ^ SecretMarker.mask }
        }
        return secret
    }

    /// Counts the marker's occurrences in the readable memory of this process.
    package func occurrencesInMemory() throws -> Int {
        // Foundation reads only the first page of a file whose reported size is 0, which would omit most of the memory.
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd() ?? Data()
        var count = 0
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 2, fields[1].hasPrefix("r"), !line.contains("[v") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { UInt(String($0), radix: 16) }
            guard bounds.count == 2, let start = unsafe UnsafeRawPointer(bitPattern: bounds[0]) else { continue }
            // The mapping exists unless another thread of this process unmaps it.
            count += unsafe occurrences(in: UnsafeRawBufferPointer(start: start, count: Int(bounds[1] - bounds[0])))
        }
        return count
    }

    /// Writes the secret to a file, bypassing every library's buffers.
    package func write(to path: String) throws {
        let secret = try secret()
        let file = unsafe open(path, O_WRONLY | O_CREAT, 0o600)
        secret.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { _ = unsafe Glibc.write(file, $0.baseAddress, $0.count) }
        }
        close(file)
    }

    package func occurrences(inFilesBelow directory: String) throws -> Int {
        var count = 0
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
            guard let data = FileManager.default.contents(atPath: directory + "/" + name) else { continue }
            count += unsafe data.withUnsafeBytes { unsafe occurrences(in: $0) }
        }
        return count
    }

    private func occurrences(in memory: UnsafeRawBufferPointer) -> Int {
        guard var position = memory.baseAddress, memory.count >= masked.count else { return 0 }
        let end = unsafe position + memory.count - masked.count
        var count = 0
        while unsafe position <= end,
            let found = unsafe memchr(position, Int32(masked[0] ^ SecretMarker.mask), end - position + 1)
        {
            let candidate = UnsafeRawPointer(found)
            var matches = true
            for index in 1..<masked.count
            where unsafe candidate.load(fromByteOffset: index, as: UInt8.self) != masked[index] ^ SecretMarker.mask {
                matches = false
                break
            }
            if matches { count += 1 }
            unsafe position = candidate + 1
        }
        return count
    }
}
