// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Whether a new file says what it was to say: each operation as it was handed over, against each as it was read from the file, in order. Where
/// the values lie is the file's own to say.
struct ReadBack {
    private struct Tally: Equatable {
        var count = 0
        var sum: UInt64 = 0
    }

    private let hash = ShortHash()
    private var handedOver = Tally()
    private var found = Tally()

    mutating func handOver(_ operation: Span<UInt8>) { add(operation, to: \.handedOver) }

    mutating func find(_ operation: Span<UInt8>) { add(operation, to: \.found) }

    /// - Throws: `.damaged(.readBack)` when something is missing, or is another.
    func end() throws(StorageError) { guard handedOver == found else { throw .damaged(.readBack) } }

    private mutating func add(_ operation: Span<UInt8>, to tally: WritableKeyPath<ReadBack, Tally>) {
        Operation.forEachPartButOffset(of: operation) { part in
            // Multiplied, so that two that change places show.
            self[keyPath: tally].sum = self[keyPath: tally].sum &* 0x9E37_79B9_7F4A_7C15 &+ hash.hash(part)
        }
        self[keyPath: tally].count += 1
    }
}
