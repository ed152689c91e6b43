// SPDX-License-Identifier: Apache-2.0
internal import Vault

/// The watches of one connection, by the number of their requests. Those with changes take turns, so that a busy one
/// does not delay the others.
struct Watches {
    private var sequences: [UInt32: ChangeSequence] = [:]
    /// The watches that may have changes, in the order of their turns.
    private var waiting: [UInt32] = []
    /// Whether a request is being answered. The next one waits.
    var isAnswering = false
    /// Whether changes are being written.
    var isTelling = false
    /// The number of replies that are being written: at most two.
    var unread = 0
    /// The timer that closes the connection of a client that does not read.
    var readerEnd: Int?

    /// The most watches of a process on all its connections: each costs time for every change of an item, and memory
    /// for 256 changes.
    static let mostOfProcess = 1024

    var count: Int { sequences.count }

    subscript(_ number: UInt32) -> ChangeSequence? { sequences[number] }

    mutating func add(_ number: UInt32, _ changes: ChangeSequence) { sequences[number] = changes }

    mutating func remove(_ number: UInt32) { sequences[number] = nil }

    mutating func append(_ number: UInt32) { if sequences[number] != nil { waiting.append(number) } }

    mutating func next() -> UInt32? { waiting.isEmpty ? nil : waiting.removeFirst() }
}
