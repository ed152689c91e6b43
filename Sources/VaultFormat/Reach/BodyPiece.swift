// SPDX-License-Identifier: Apache-2.0

/// A part of a body that is being written: the writer puts the pieces one behind the other, in locked memory, since
/// only there the secrets may lie.
public enum BodyPiece<Secret> {
    case bytes([UInt8])
    case secret(Secret)
}

extension BodyPiece: Equatable where Secret: Equatable {}
extension BodyPiece: Sendable where Secret: Sendable {}

/// Gathers pieces.
struct BodyWriter<Secret> {
    /// The bytes behind the last secret.
    var bytes: [UInt8] = []
    private var done: [BodyPiece<Secret>] = []

    mutating func append(_ secret: Secret) {
        if !bytes.isEmpty { done.append(.bytes(bytes)) }
        bytes = []
        done.append(.secret(secret))
    }

    consuming func pieces() -> [BodyPiece<Secret>] { bytes.isEmpty ? done : done + [.bytes(bytes)] }

    /// - Throws: `.outOfBounds` for more than the width can say.
    mutating func append<I: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        count: Int, _ type: I.Type, _ field: FormatField
    ) throws(FormatError) {
        guard let count = I(exactly: count) else { throw .outOfBounds(field) }
        bytes.append(integer: count)
    }
}
