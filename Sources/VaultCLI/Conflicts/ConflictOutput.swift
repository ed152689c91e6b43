// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultFormat

extension ItemConflict {
    private static let labels: [Attribute: String] = [
        .label: "label", .comment: "comment", .itemDescription: "description", .synchronizable: "synchronizable",
    ]

    /// The name of the field on the command line, if Apple's name is a four-character code.
    var fieldName: String { Attribute(name: field).flatMap { ItemConflict.labels[$0] } ?? field }

    private func text(of value: Value, _ time: (Time) -> String = \.rfc3339) -> String? {
        guard let text = value.text else { return nil }
        switch field {
        case "created": return Double(text).map { time(Time(seconds: $0)) } ?? text
        case "protection": return Accessibility(rawValue: text)?.optionName ?? text
        default: return text
        }
    }
}

extension ItemConflict {
    private func start(_ number: Int) -> String {
        [item.serviceName, item[.account]?.displayText ?? "", fieldName, String(number)]
            .map { $0.printable + "\t" }.joined()
    }

    /// Returns SERVICE, ACCOUNT, FIELD, number, device, time and value, separated by tabs. Only non-secret values are
    /// shown. For two items with the same key, their other differences follow.
    func line(_ index: Int, _ names: DeviceNames, revealing: Bool) throws -> SecretBytes {
        let value = values[index]
        let columns = [names.name(of: value.log) ?? "", Time(seconds: value.time).text]
        var line = try SecretBuffer()
        try line.append(Array((start(index + 1) + columns.map(\.printable).joined(separator: "\t") + "\t").utf8))
        if value.isRemoval {
            try line.append(Array("(removed)".utf8))
        } else if let text = text(of: value, \.text) {
            try line.append(Array(text.printable.utf8))
        } else if let secret = value.secret {
            if revealing { try line.append(shown: secret) } else { try line.append("(a secret: --reveal)") }
        }
        if value.item != nil {
            var separator = "\t"
            for difference in differences(of: value) {
                try line.append(separator + difference.text)
                separator = ", "
                guard revealing, let secret = difference.secret else { continue }
                try line.append(" ")
                try line.append(shown: secret)
            }
        }
        try line.append(Array("\n".utf8))
        return try line.take()
    }

    /// Returns a JSON object, whose secrets stay in locked memory until they are written.
    func json(_ names: DeviceNames, revealing: Bool) throws -> SecretBytes {
        var object = try SecretBuffer()
        try object.append("{\"field\":")
        try object.append(Output.encoded(fieldName))
        try object.append(",\"item\":")
        try object.append(Output.encoded(ItemOutput(item: item)))
        try object.append(",\"values\":[")
        for (index, value) in values.enumerated() {
            if index > 0 { try object.append(Array(",".utf8)) }
            // A single value is that of a hidden item, which is not the current one.
            let output = ValueOutput(
                value, text(of: value), names, number: index + 1, counts: index == 0 && values.count > 1)
            try object.append(Output.encoded(output).dropLast())
            if revealing {
                if let secret = value.secret {
                    try object.append(",")
                    try object.append(member: secret)
                }
                try object.append(fieldSecretsOf: value.item)
            }
            try object.append(Array("}".utf8))
        }
        try object.append(Array("]}".utf8))
        return try object.take()
    }

    private struct ValueOutput: Encodable {
        var number: Int
        var device: String?
        var time: Time
        var text: String?
        var isRemoval: Bool
        var counts: Bool
        /// Only for two items with the same key.
        var item: ItemOutput?
        var isHereOnly: Bool?

        init(_ value: ItemConflict.Value, _ text: String?, _ names: DeviceNames, number: Int, counts: Bool) {
            (self.number, self.counts) = (number, counts)
            (device, time) = (names.name(of: value.log), Time(seconds: value.time))
            (self.text, isRemoval) = (text, value.isRemoval)
            item = value.item.map { ItemOutput(item: $0) }
            isHereOnly = value.item.map { _ in value.isHereOnly }
        }
    }
}

extension SecretBuffer {
    /// Appends a secret in the form displayed in a line of text.
    fileprivate mutating func append(shown secret: Secret) throws(CryptoError) {
        try secret.withBytes { bytes throws(CryptoError) in
            if bytes.isUTF8 {
                try append(shownEscaping: bytes)
            } else {
                try append("base64:")
                try append(base64: bytes)
            }
        }
    }
}
