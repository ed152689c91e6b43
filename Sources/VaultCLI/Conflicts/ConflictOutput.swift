// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultFormat

extension ItemConflict {
    /// Whether it is an item that is hidden by another one with its key.
    var isShadow: Bool { field == "shadow" }

    /// Between how many a person chooses.
    var count: Int { isShadow ? 2 : values.count }

    private static let labels: [Attribute: String] = [
        .label: "label", .comment: "comment", .itemDescription: "description", .synchronizable: "synchronizable",
    ]

    /// The field as the command line has it, where Apple's name is a code of four characters.
    var fieldName: String { Attribute(name: field).flatMap { ItemConflict.labels[$0] } ?? field }

    private func text(of value: Value) -> String? {
        guard let text = value.text else { return nil }
        switch field {
        case "created": return Double(text).map(Date.formattedTime) ?? text
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

    var shadowLines: String {
        start(1) + "\t\tthe item that is seen\n" + start(2) + "\t"
            + "\(item.record?.modified.formattedTime ?? "")\tthis one, which it hides\n"
    }

    /// SERVICE, ACCOUNT, FIELD, number, device, time and value, parted by tabs. A value that is no secret is shown.
    func line(_ index: Int, _ names: DeviceNames, revealing: Bool) throws -> SecretBytes {
        let value = values[index]
        let columns = [names.name(of: value.log) ?? "", Date.formattedTime(value.time)]
        var line = try SecretBuffer()
        try line.append(Array((start(index + 1) + columns.map(\.printable).joined(separator: "\t") + "\t").utf8))
        if value.isRemoval {
            try line.append(Array("(removed)".utf8))
        } else if let text = text(of: value) {
            try line.append(Array(text.printable.utf8))
        } else if let secret = value.secret {
            guard revealing else {
                try line.append(Array("(a secret: --reveal)\n".utf8))
                return try line.take()
            }
            try secret.withBytes { bytes in
                if (try? UTF8Span(validating: bytes)) != nil {
                    try line.append(escaping: bytes)
                } else {
                    try line.append(Array("base64:".utf8))
                    try line.append(base64: bytes)
                }
            }
        }
        try line.append(Array("\n".utf8))
        return try line.take()
    }

    /// An object whose secrets go through locked memory up to the write.
    func json(_ names: DeviceNames, revealing: Bool) throws -> SecretBytes {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var object = try SecretBuffer()
        try object.append(Array("{\"field\":".utf8))
        try object.append(JSONText.escaped(Array(try encoder.encode(fieldName)).span))
        try object.append(Array(",\"item\":".utf8))
        try object.append(JSONText.escaped(Array(try encoder.encode(ItemOutput(item: item))).span))
        try object.append(Array(",\"values\":[".utf8))
        for (index, value) in values.enumerated() {
            if index > 0 { try object.append(Array(",".utf8)) }
            let output = ValueOutput(value, text(of: value), names, number: index + 1)
            try object.append(JSONText.escaped(Array(try encoder.encode(output)).span).dropLast())
            if revealing, let secret = value.secret {
                try secret.withBytes { bytes in
                    if (try? UTF8Span(validating: bytes)) != nil {
                        try object.append(Array(",\"secret\":\"".utf8))
                        try object.append(escaping: bytes)
                    } else {
                        try object.append(Array(",\"secretBase64\":\"".utf8))
                        try object.append(base64: bytes)
                    }
                    try object.append(Array("\"".utf8))
                }
            }
            try object.append(Array("}".utf8))
        }
        try object.append(Array("]}".utf8))
        return try object.take()
    }

    private struct ValueOutput: Encodable {
        var number: Int
        var device: String?
        var time: String
        var text: String?
        var isRemoval: Bool
        var counts: Bool

        init(_ value: ItemConflict.Value, _ text: String?, _ names: DeviceNames, number: Int) {
            self.number = number
            (device, time) = (names.name(of: value.log), Date.formattedTime(value.time))
            (self.text, isRemoval, counts) = (text, value.isRemoval, number == 1)
        }
    }
}
