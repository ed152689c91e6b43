// SPDX-License-Identifier: Apache-2.0

/// A part of a body being written: the writer concatenates the pieces in locked memory, the only place where the
/// secrets may be.
package enum BodyPiece<Secret> {
    case bytes([UInt8])
    case secret(Secret)
}

extension BodyPiece: Equatable where Secret: Equatable {}
extension BodyPiece: Sendable where Secret: Sendable {}

/// Collects pieces.
struct BodyWriter<Secret> {
    /// The bytes after the last secret.
    var bytes: [UInt8] = []
    private var done: [BodyPiece<Secret>] = []

    mutating func append(_ secret: Secret) {
        if !bytes.isEmpty { done.append(.bytes(bytes)) }
        bytes = []
        done.append(.secret(secret))
    }

    consuming func pieces() -> [BodyPiece<Secret>] { bytes.isEmpty ? done : done + [.bytes(bytes)] }

    /// - Throws: `.outOfBounds` if the count exceeds the type.
    mutating func append<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        count: Int, _ type: I.Type, _ field: FormatField
    ) throws(FormatError) {
        guard let count = I(exactly: count) else { throw .outOfBounds(field) }
        bytes.append(integer: count)
    }
}
