// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// Takes secrets out of a stream of bytes, wherever the pieces of it begin and end.
struct Mask: ~Copyable {
    static let replacement = Array("<concealed by vault>".utf8)
    /// A shorter one would be found by chance, and what is missing of a text would then say what it is.
    static let leastLength = 4

    /// Longest first: one may begin another.
    private let secrets: [Secret]
    private let firstBytes: Swift.Set<UInt8>
    /// What may be the beginning of a secret.
    private var held: SecretBytes
    private var heldCount = 0

    init(_ secrets: [Secret]) throws {
        self.secrets = secrets.filter { $0.count >= Mask.leastLength }.sorted { $0.count > $1.count }
        firstBytes = Swift.Set(self.secrets.map { $0.withBytes { $0[0] } })
        held = try SecretBytes(zeroed: self.secrets.first?.count ?? 0)
    }

    /// - Parameter write: takes what can be shown.
    mutating func pass(_ bytes: Span<UInt8>, _ write: (Span<UInt8>) throws -> Void) throws {
        var joined = try SecretBytes(zeroed: heldCount + bytes.count)
        held.withBytes { joined.replace(at: 0, with: $0.extracting(0..<heldCount)) }
        joined.replace(at: heldCount, with: bytes)
        let rest = try joined.withBytes { try show($0, isLast: false, write) }
        heldCount = joined.count - rest
        joined.withBytes { held.replace(at: 0, with: $0.extracting(rest..<$0.count)) }
    }

    /// The stream is at its end: what was held back is not the beginning of more.
    mutating func finish(_ write: (Span<UInt8>) throws -> Void) throws {
        _ = try held.withBytes { try show($0.extracting(0..<heldCount), isLast: true, write) }
        heldCount = 0
    }

    /// - Returns: where the part begins that may be the beginning of a secret.
    private func show(_ bytes: Span<UInt8>, isLast: Bool, _ write: (Span<UInt8>) throws -> Void) throws -> Int {
        var shown = 0
        var position = 0
        while position < bytes.count {
            guard firstBytes.contains(bytes[position]), let match = match(bytes.extracting(position..<bytes.count), isLast: isLast) else {
                position += 1
                continue
            }
            if shown < position { try write(bytes.extracting(shown..<position)) }
            guard case .whole(let length) = match else { return position }
            try write(Mask.replacement.span)
            position += length
            shown = position
        }
        if shown < position { try write(bytes.extracting(shown..<position)) }
        return position
    }

    private enum Match {
        case whole(Int)
        /// All that is there fits, and more may come.
        case part
    }

    private func match(_ bytes: Span<UInt8>, isLast: Bool) -> Match? {
        var isPart = false
        for secret in secrets {
            let fits = secret.withBytes { secret in
                let count = min(secret.count, bytes.count)
                for index in 0..<count where secret[index] != bytes[index] { return false }
                return true
            }
            guard fits else { continue }
            guard secret.count > bytes.count else { return isPart ? .part : .whole(secret.count) }
            isPart = !isLast
        }
        return isPart ? .part : nil
    }
}
