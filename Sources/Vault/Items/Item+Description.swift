// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials

// The descriptions of items in logs and debuggers, which contain no secret.

extension ItemRecord: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The class, the identifier and the version.
    public var description: String {
        "ItemRecord(\(itemClass.rawValue), \(id.uuidString.lowercased()), version: \(version))"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

extension Item: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The class, the item's name and its version; never the secret.
    public var description: String {
        var parts = [itemClass.rawValue]
        for attribute in [Attribute.service, .server, .account, .label] {
            if let text = self[attribute]?.text { parts.append("\(attribute.name): \"\(text)\"") }
        }
        if let record { parts.append("version: \(record.version)") }
        return "Item(\(parts.joined(separator: ", ")))"
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}
