// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
public import Vault

/// Requests changes. The first reply is empty and confirms the subscription; each later one has one or more changes,
/// until a `FailureReply` ends them. After this request the connection accepts only more of these, each with a number
/// of its own, and ``UnwatchRequest``.
package struct WatchRequest: AgentRequest, Formed, OnlyReads {
    package typealias Reply = ChangesReply
    package static let kind: UInt8 = 25
    package static let form = MessageForm(Self.init) { ($0.query, $0.sequence) }
    /// `nil` for everything that the client may see.
    package let query: Query?
    /// A commit that the client knows; `nil` for the newest.
    package let sequence: UInt64?
}

/// Ends the subscription of a ``WatchRequest`` of the same connection.
package struct UnwatchRequest: ValueRequest, DoneRequest, OnlyReads {
    package static let kind: UInt8 = 38
    /// The number of that request.
    package let value: UInt32
}

/// Requests the number of the newest commit.
package struct SequenceRequest: EmptyRequest, CountRequest, OnlyReads {
    package static let kind: UInt8 = 26
}

package struct ChangesReply: ValueReply {
    package static let kind: UInt8 = 137
    package let value: [ItemChange]

    package init(_ value: [ItemChange]) { self.value = value }
}

extension ItemChange: MessageValue, Formed {
    package static let form = MessageForm<Self>(checking: { kind, itemClass, text, sequence in
        let id = text.flatMap { UUID(uuidString: $0) }
        return id?.uuidString == text ? ItemChange(kind, itemClass: itemClass, id: id, sequence: sequence) : nil
    }) { ($0.kind, $0.itemClass, $0.id?.uuidString, $0.sequence) }
}

extension ItemChange.Kind: FormedCases {
    package static let cases: [CaseForm<UInt8, Self>] = [
        .init(1, .added), .init(2, .updated), .init(3, .deleted), .init(4, .many), .init(5, .locked),
        .init(6, .unlocked), .init(7, Self.failed) { if case .failed(let error) = $0 { error } else { nil } },
    ]
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
