// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import Vault

/// Requests changes. The first reply is empty and confirms the subscription; each later one has one or more changes,
/// until a `FailureReply` ends them. After this request the connection accepts only more of these, each with a number
/// of its own, and ``UnwatchRequest``.
package struct WatchRequest: AgentRequest, Formed {
    package typealias Reply = ChangesReply
    package static let kind: UInt8 = 25
    package static let onlyReads = true
    package static let form = MessageForm(Self.init) { ($0.query, $0.sequence) }
    /// `nil` for everything that the client may see.
    package let query: Query?
    /// A commit that the client knows; `nil` for the newest.
    package let sequence: UInt64?
}

/// Ends the subscription of a ``WatchRequest`` of the same connection.
package struct UnwatchRequest: ValueRequest {
    package typealias Reply = DoneReply
    package static let kind: UInt8 = 38
    package static let onlyReads = true
    /// The number of that request.
    package let value: UInt32
}

/// Requests the number of the newest commit.
package struct SequenceRequest: EmptyRequest {
    package typealias Reply = CountReply
    package static let kind: UInt8 = 26
    package static let onlyReads = true
}

package struct ChangesReply: ValueReply {
    package static let kind: UInt8 = 137
    package let value: [ItemChange]

    package init(_ value: [ItemChange]) { self.value = value }
}

extension ItemChange: MessageValue {
    package func write(to writer: inout MessageWriter) {
        switch kind {
        case .added: writer.put(case: 1)
        case .updated: writer.put(case: 2)
        case .deleted: writer.put(case: 3)
        case .many: writer.put(case: 4)
        case .locked: writer.put(case: 5)
        case .unlocked: writer.put(case: 6)
        case .failed(let error): writer.put(case: 7, error)
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
    /// The number of the newest commit: whatever is read afterwards is at least as new.
    public var sequence: UInt64 { get throws(VaultError) { try ask(SequenceRequest()).count } }

    /// Returns the changes. All subscriptions of a client share one connection; its end is reported as the last
    /// element.
    public func changes(matching query: Query?, from sequence: UInt64?) -> ChangeSequence {
        var isSecondTry = false
        while true {
            do throws(VaultError) {
                // `nil` if the last reader of the connection has just left.
                if let changes = try watch().changes(matching: query, from: sequence) { return changes }
            } catch {
                guard error == .agent(.gone), !isSecondTry else { return ChangeSequence(failing: error) }
                isSecondTry = true
            }
        }
    }
}
