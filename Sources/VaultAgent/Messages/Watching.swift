// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Dispatch
internal import FoundationEssentials
internal import Synchronization
public import Vault
internal import VaultCrypto

/// Asks for changes. The first reply has none and says that they are told from now on; each that comes has one or more,
/// for as long as the connection lasts, on which nothing else can be asked.
package struct WatchRequest: AgentRequest {
    package typealias Reply = ChangesReply
    package static let kind: UInt8 = 25
    package static let onlyReads = true
    /// Nil: of everything that the client may see.
    package let query: Query?
    /// A commit that the client knew; nil: the newest.
    package let sequence: UInt64?

    package init(_ query: Query?, from sequence: UInt64?) {
        self.query = query
        self.sequence = sequence
    }

    package func write(to writer: inout MessageWriter) {
        writer.put(query)
        writer.put(sequence)
    }

    package init(from reader: inout MessageReader) throws(MessageError) {
        query = try reader.read()
        sequence = try reader.read()
    }
}

/// The number of the newest commit.
package struct SequenceRequest: AgentRequest, EmptyMessage {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 26
    package static let onlyReads = true

    package init() {}
}

package struct ChangesReply: AgentReply, ValueMessage {
    package static let kind: UInt8 = 137
    package let value: [ItemChange]

    package init(_ value: [ItemChange]) { self.value = value }
}

extension ItemChange: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch kind {
        case .added: writer.put(1 as UInt8)
        case .updated: writer.put(2 as UInt8)
        case .deleted: writer.put(3 as UInt8)
        case .many: writer.put(4 as UInt8)
        case .locked: writer.put(5 as UInt8)
        case .unlocked: writer.put(6 as UInt8)
        case .failed(let error):
            writer.put(7 as UInt8)
            writer.put(error)
        }
        writer.put(itemClass)
        writer.put(id?.uuidString)
        writer.put(sequence)
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> ItemChange {
        let kind: Kind =
            switch try reader.read(UInt8.self) {
            case 1: .added
            case 2: .updated
            case 3: .deleted
            case 4: .many
            case 5: .locked
            case 6: .unlocked
            case 7: .failed(try reader.read())
            default: throw .invalid
            }
        let itemClass: ItemClass? = try reader.read()
        let text: String? = try reader.read()
        let id = text.flatMap { UUID(uuidString: $0) }
        guard id?.uuidString == text else { throw .invalid }
        return ItemChange(kind, itemClass: itemClass, id: id, sequence: try reader.read())
    }
}

extension AgentClient {
    public var sequence: UInt64 { get throws(VaultError) { try ask(SequenceRequest()).count } }

    /// The agent tells them on a connection of their own. When it ends, the last element says so.
    public func changes(matching query: Query?, from sequence: UInt64?) -> ChangeSequence {
        do throws(VaultError) {
            var connection = try self.connect()
            try connection.send(WatchRequest(query, from: sequence))
            let first: Result<ChangesReply, VaultError> = try connection.receive(isPatient: false)
            _ = try first.get()
            return ChangeSequence(watching: connection)
        } catch {
            return ChangeSequence(failing: error)
        }
    }
}

extension ChangeSequence {
    /// - Parameter connection: on which the agent tells changes.
    fileprivate init(watching connection: consuming AgentConnection) {
        let buffer = ChangeBuffer()
        let line = connection.line
        // A thread of its own: it waits for as long as the changes are read.
        let held = Mutex<AgentConnection?>(consume connection)
        let source = WatchedConnection(held)
        DispatchQueue(label: "vault.watch").async { source.read(into: buffer) }
        self.init(buffer) { line.hangUp() }
    }
}

/// The connection of a watch, which one thread reads.
private final class WatchedConnection: Sendable {
    private let connection: Mutex<AgentConnection?>

    init(_ connection: consuming Mutex<AgentConnection?>) { self.connection = connection }

    func read(into buffer: ChangeBuffer) {
        connection.withLock { held in
            guard var connection = held.take() else { return }
            var last = ItemChange(.many, sequence: 0)
            var failure: VaultError?
            while failure == nil {
                do throws(VaultError) {
                    let reply: Result<ChangesReply, VaultError> = try connection.receive(isPatient: true)
                    for change in try reply.get().value {
                        last = change
                        buffer.offer(change)
                    }
                } catch {
                    failure = error
                }
            }
            connection.line.end()
            // An agent that ends in order says so itself.
            if last.kind != .failed(.closed) {
                buffer.offer(ItemChange(.failed(failure ?? .closed), sequence: last.sequence))
            }
            buffer.end()
        }
    }
}
