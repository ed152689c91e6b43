// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto

/// Takes secrets out of a stream of bytes, wherever the pieces of it begin and end, also where one overlaps another.
struct Mask: ~Copyable {
    static let replacement = Array("<concealed by vault>".utf8)
    /// A shorter one would be found by chance, and what is missing of a text would then say what it is.
    static let leastLength = 4

    private let secrets: [Secret]
    private let firstBytes: Set<UInt8>
    /// What may be the beginning of a secret, and how much of it is concealed already.
    private var held: SecretBytes
    private var heldCount = 0
    private var concealedCount = 0

    init(_ secrets: [Secret]) throws {
        // Shells drop the newline that ends a file.
        let known = try (secrets + secrets.compactMap { try Mask.withoutNewline($0) }).filter {
            $0.count >= Mask.leastLength
        }
        let held = try SecretBytes(zeroed: known.map(\.count).max() ?? 0)
        self.secrets = known
        firstBytes = Set(known.map { $0.withBytes { $0[0] } })
        self.held = held
    }

    /// Whether it cannot be taken out, as it is or as a shell hands it on.
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

    /// - Parameter write: takes what can be shown.
    mutating func pass(_ bytes: Span<UInt8>, _ write: (Span<UInt8>) throws -> Void) throws {
        var joined = try SecretBytes(zeroed: heldCount + bytes.count)
        held.withBytes { joined.replace(at: 0, with: $0.extracting(0..<heldCount)) }
        joined.replace(at: heldCount, with: bytes)
        let (rest, concealed) = try joined.withBytes { try show($0, isLast: false, write) }
        heldCount = joined.count - rest
        concealedCount = max(concealed - rest, 0)
        joined.withBytes { held.replace(at: 0, with: $0.extracting(rest..<$0.count)) }
    }

    /// The stream is at its end: what was held back is not the beginning of more.
    mutating func finish(_ write: (Span<UInt8>) throws -> Void) throws {
        _ = try held.withBytes { try show($0.extracting(0..<heldCount), isLast: true, write) }
        (heldCount, concealedCount) = (0, 0)
    }

    /// - Returns: where the part begins that may be the beginning of a secret, and up to where everything is concealed.
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

    /// The length of the longest secret that begins here, and whether a longer one may.
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
