// SPDX-License-Identifier: Apache-2.0
public import VaultFormat

/// What a vault says of itself, in one record of class 0: the user attribute `history` with a decimal number.
public enum VaultSettings {
    public static let historyLimits = 0...1000

    private static let history = "history"

    /// The record's attributes.
    ///
    /// - Parameter old: those of the record that it replaces; what they say beside is kept.
    public static func attributes(historyLimit: Int, replacing old: EncodedAttributes?) -> EncodedAttributes {
        var user = old?.user ?? [:]
        user[history] = String(historyLimit)
        let fresh = EncodedAttributes(old?.values ?? [:], user: user)
        return old.map { fresh.keepingUnknown(of: $0) } ?? fresh
    }

    /// How many older versions of an item are kept. Nil: the operation does not say.
    static func historyLimit(in operation: Span<UInt8>) -> Int? {
        guard Operation.itemClass(of: operation) == nil, Operation.kind(of: operation) == .put else { return nil }
        var limit: Int?
        let attributes = operation.extracting(Layout.operationLength..<operation.count)
        guard OwnRecord.kind(of: attributes) == .settings else { return nil }
        EncodedAttributes.visitUser(attributes) { name, value in
            // The writer of another number meant it; what is none, or out of bounds, keeps nothing.
            guard name == history else { return }
            let text = String(validating: attributes.extracting(value).array(0..<value.count), as: UTF8.self)
            limit = text.flatMap { Int($0) }.flatMap { historyLimits.contains($0) ? $0 : nil } ?? 0
        }
        return limit
    }
}
