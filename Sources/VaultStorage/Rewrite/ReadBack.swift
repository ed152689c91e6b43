// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

/// Whether a new file has the intended contents: compares each operation as appended with each as read from the file,
/// in order. Offsets of values are excluded.
struct ReadBack {
    private struct Tally: Equatable {
        private var count = 0
        private var sum: UInt64 = 0

        mutating func add(_ operation: Span<UInt8>, _ hash: ShortHash) {
            // Multiplication makes the sum depend on the order.
            Operation.forEachPartButOffset(of: operation) { sum = sum &* 0x9E37_79B9_7F4A_7C15 &+ hash.hash($0) }
            count += 1
        }
    }

    private let hash = ShortHash()
    private var handedOver = Tally()
    private var found = Tally()

    mutating func handOver(_ operation: Span<UInt8>) { handedOver.add(operation, hash) }

    mutating func find(_ operation: Span<UInt8>) { found.add(operation, hash) }

    /// - Throws: `.damaged(.readBack)` if an operation is missing or differs.
    func end() throws(StorageError) { guard handedOver == found else { throw .damaged(.readBack) } }
}
