// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import Vault

/// The changes that one connection tells, by the number of the request for them. Each that has some is told in its
/// turn: much of one keeps no other waiting.
struct Watches {
    private var sequences: [UInt32: ChangeSequence] = [:]
    /// Those that may have something, in the order of their turns.
    private var waiting: [UInt32] = []
    /// Whether a request is being answered, before the next is taken up.
    var isAnswering = false
    /// Whether changes are on their way out.
    var isTelling = false
    /// How many replies are on their way out: two at most.
    var unread = 0
    /// When the connection is closed, since its client does not read them.
    var readerEnd: Scheduled<Void>?

    /// The most that a process may have, whatever its connections: each costs time with every change of an item, and
    /// memory for 256 of them.
    static let mostOfProcess = 1024

    var count: Int { sequences.count }

    subscript(_ number: UInt32) -> ChangeSequence? { sequences[number] }

    mutating func add(_ number: UInt32, _ changes: ChangeSequence) { sequences[number] = changes }

    mutating func remove(_ number: UInt32) { sequences[number] = nil }

    mutating func append(_ number: UInt32) { if sequences[number] != nil { waiting.append(number) } }

    mutating func next() -> UInt32? { waiting.isEmpty ? nil : waiting.removeFirst() }

    mutating func end() {
        readerEnd?.cancel()
        self = Watches()
    }
}
