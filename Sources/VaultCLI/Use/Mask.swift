// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// Removes secrets from a stream of bytes, even if they are split between parts of the stream, or overlap each other.
struct Mask: ~Copyable {
    static let replacement = Array("<concealed by vault>".utf8)
    /// The minimum length of a secret: a shorter one would occur by chance, and the gaps in a text would reveal it.
    static let leastLength = 4

    private let secrets: [Secret]
    private let firstBytes: Set<UInt8>
    /// The pending bytes, which may be the beginning of a secret, and the number of them that are already concealed.
    private var held: SecretBytes
    private var heldCount = 0
    private var concealedCount = 0

    init(_ secrets: [Secret]) throws {
        // Shells drop the newline at the end of a file.
        let known = try (secrets + secrets.compactMap { try Mask.withoutNewline($0) }).filter {
            $0.count >= Mask.leastLength
        }
        let held = try SecretBytes(zeroed: known.map(\.count).max() ?? 0)
        self.secrets = known
        firstBytes = Set(known.map { $0.withBytes { $0[0] } })
        self.held = held
    }

    /// Returns whether the secret is too short to be removed, either as it is or without its trailing newline, as
    /// shells pass it on.
    static func isTooShort(_ secret: Secret) throws -> Bool {
        let shortest = try withoutNewline(secret) ?? secret
        return (1..<leastLength).contains(shortest.count)
    }

    private static func withoutNewline(_ secret: Secret) throws -> Secret? {
        let end = secret.withBytes { bytes in
            var end = bytes.count
            while end > 0, bytes[end - 1] == UInt8(ascii: "\n") || bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
            return end
        }
        return end == secret.count ? nil : Secret(try secret.bytes.copy(of: 0..<end))
    }

    /// - Parameter write: receives the bytes that can be shown.
    mutating func pass(_ bytes: Span<UInt8>, _ write: (Span<UInt8>) throws -> Void) throws {
        var joined = try SecretBytes(zeroed: heldCount + bytes.count)
        held.withBytes { joined.replace(at: 0, with: $0.extracting(0..<heldCount)) }
        joined.replace(at: heldCount, with: bytes)
        let (rest, concealed) = try joined.withBytes { try show($0, isLast: false, write) }
        heldCount = joined.count - rest
        concealedCount = max(concealed - rest, 0)
        joined.withBytes { held.replace(at: 0, with: $0.extracting(rest..<$0.count)) }
    }

    /// Ends the stream: pending bytes are not the beginning of a secret.
    mutating func finish(_ write: (Span<UInt8>) throws -> Void) throws {
        _ = try held.withBytes { try show($0.extracting(0..<heldCount), isLast: true, write) }
        (heldCount, concealedCount) = (0, 0)
    }

    /// - Returns: the index from which the bytes may be the beginning of a secret, and the end of the concealed bytes.
    private func show(
        _ bytes: Span<UInt8>, isLast: Bool, _ write: (Span<UInt8>) throws -> Void
    ) throws -> (rest: Int, concealed: Int) {
        var concealed = concealedCount
        var shown = concealed
        var position = 0
        while position < bytes.count {
            if firstBytes.contains(bytes[position]) {
                let (whole, isPart) = match(bytes.extracting(position..<bytes.count))
                if whole > 0 {
                    if position >= concealed {
                        if shown < position { try write(bytes.extracting(shown..<position)) }
                        try write(Mask.replacement.span)
                    }
                    concealed = max(concealed, position + whole)
                    shown = concealed
                }
                if isPart, !isLast {
                    if shown < position { try write(bytes.extracting(shown..<position)) }
                    return (position, concealed)
                }
            }
            position += 1
        }
        if shown < position { try write(bytes.extracting(shown..<position)) }
        return (position, concealed)
    }

    /// Returns the length of the longest secret at the start, and whether a longer one may follow.
    private func match(_ bytes: Span<UInt8>) -> (whole: Int, isPart: Bool) {
        var (whole, isPart) = (0, false)
        for secret in secrets {
            let fits = secret.withBytes { secret in
                let count = min(secret.count, bytes.count)
                for index in 0..<count where secret[index] != bytes[index] { return false }
                return true
            }
            guard fits else { continue }
            if secret.count > bytes.count { isPart = true } else { whole = max(whole, secret.count) }
        }
        return (whole, isPart)
    }
}
