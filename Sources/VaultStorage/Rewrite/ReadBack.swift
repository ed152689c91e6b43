// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Whether a new file says what it was to say: each operation as it was handed over, against each as it was read from
/// the file, in order. Where the values lie is the file's own to say.
struct ReadBack {
    private struct Tally: Equatable {
        private var count = 0
        private var sum: UInt64 = 0

        mutating func add(_ operation: Span<UInt8>, _ hash: ShortHash) {
            // Multiplied, so that two that change places show.
            Operation.forEachPartButOffset(of: operation) { sum = sum &* 0x9E37_79B9_7F4A_7C15 &+ hash.hash($0) }
            count += 1
        }
    }

    private let hash = ShortHash()
    private var handedOver = Tally()
    private var found = Tally()

    mutating func handOver(_ operation: Span<UInt8>) { handedOver.add(operation, hash) }

    mutating func find(_ operation: Span<UInt8>) { found.add(operation, hash) }

    /// - Throws: `.damaged(.readBack)` when something is missing, or is another.
    func end() throws(StorageError) { guard handedOver == found else { throw .damaged(.readBack) } }
}
