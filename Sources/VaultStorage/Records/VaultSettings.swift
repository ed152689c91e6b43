// SPDX-License-Identifier: Apache-2.0
package import VaultFormat

/// The vault's settings, in one record of class 0: the user attributes `history` and `deleted` with decimal numbers.
package enum VaultSettings {
    package static let historyLimits = 0...1000

    /// In days.
    package static let deletedLimits = 1...36_500

    private static let history = "history"
    private static let deleted = "deleted"

    /// The record's attributes.
    ///
    /// - Parameters:
    ///   - deletedDays: how long deleted items are kept; `nil` for as long as the history has room.
    ///   - old: those of the record that it replaces; its other attributes are kept.
    package static func attributes(
        historyLimit: Int, deletedDays: Int?, replacing old: EncodedAttributes?
    ) -> EncodedAttributes {
        var user = old?.user ?? [:]
        user[history] = String(historyLimit)
        user[deleted] = deletedDays.map { String($0) }
        let fresh = EncodedAttributes(old?.values ?? [:], user: user)
        return old.map { fresh.keepingUnknown(of: $0) } ?? fresh
    }

    /// How long deleted items are kept, in days; `nil` for as long as the history has room.
    package static func deletedDays(in attributes: EncodedAttributes) -> Int? {
        attributes.user[deleted].flatMap { Int($0) }.flatMap { deletedLimits.contains($0) ? $0 : nil }
    }

    /// The number of older versions kept per item; `nil` if the operation does not set it.
    static func historyLimit(in operation: Span<UInt8>) -> Int? {
        guard Operation.itemClass(of: operation) == nil, Operation.kind(of: operation) == .put else { return nil }
        var limit: Int?
        let attributes = operation.extracting(Layout.operationLength..<operation.count)
        guard OwnRecord.kind(of: attributes) == .settings else { return nil }
        EncodedAttributes.visitUser(attributes) { name, value in
            // A limit that is invalid or out of bounds counts as 0: nothing is kept.
            guard name == history else { return }
            let text = String(validating: attributes.extracting(value).array(0..<value.count), as: UTF8.self)
            limit = text.flatMap { Int($0) }.flatMap { historyLimits.contains($0) ? $0 : nil } ?? 0
        }
        return limit
    }
}
