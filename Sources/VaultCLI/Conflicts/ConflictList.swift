// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultSync

struct Conflicts: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Show what was changed on two devices at once.",
        discussion: """
            Both values stay until a person chooses, or writes the field anew. The first one listed, the newest, is the
            one that 'vault get' gives. resolve ITEM --keep N makes the Nth value the only one; ITEM is a service, or
            the identifier that --json shows.
            "shadow": two devices added an item with the same key, and one of the two is seen. --keep 1 keeps that one,
            --keep 2 the other one, which comes back by itself when the first is deleted or renamed.
            """,
        subcommands: [ConflictList.self, ConflictResolve.self], defaultSubcommand: ConflictList.self)
}

struct ConflictList: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the conflicts.")

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Show the secrets too.")
    var reveal = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        try vault.withFleet { fleet, opened in
            let (conflicts, names) = (try opened.conflicts(), DeviceNames(fleet))
            guard json else {
                for conflict in conflicts {
                    if conflict.isShadow { try Output.write(conflict.shadowLines) }
                    for index in conflict.values.indices {
                        try conflict.line(index, names, revealing: reveal).withBytes { try Output.write($0) }
                    }
                }
                return
            }
            try Output.write("[")
            for (index, conflict) in conflicts.enumerated() {
                if index > 0 { try Output.write(",\n ") }
                try conflict.json(names, revealing: reveal).withBytes { try Output.write($0) }
            }
            try Output.write("]\n")
        }
    }
}

extension ItemConflict {
    /// Whether it is an item that is hidden by another one with its key.
    var isShadow: Bool { field == "shadow" }

    /// Between how many a person chooses.
    var count: Int { isShadow ? 2 : values.count }
}

extension ItemConflict {
    private func start(_ number: Int) -> String {
        [item.serviceName, item[.account]?.displayText ?? "", field, String(number)]
            .map { $0.printable + "\t" }.joined()
    }

    fileprivate var shadowLines: String {
        start(1) + "\t\tthe item that is seen\n" + start(2) + "\t"
            + "\(item.record?.modified.formattedTime ?? "")\tthis one, which it hides\n"
    }

    /// SERVICE, ACCOUNT, FIELD, number, device, time and value, parted by tabs. A value that is no secret is shown.
    fileprivate func line(_ index: Int, _ names: DeviceNames, revealing: Bool) throws -> SecretBytes {
        let value = values[index]
        let columns = [names.name(of: value.log) ?? "", Date.formattedTime(value.time)]
        var line = try SecretBuffer()
        try line.append(Array((start(index + 1) + columns.map(\.printable).joined(separator: "\t") + "\t").utf8))
        if value.isRemoval {
            try line.append(Array("(removed)".utf8))
        } else if let text = value.text {
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
    fileprivate func json(_ names: DeviceNames, revealing: Bool) throws -> SecretBytes {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var object = try SecretBuffer()
        try object.append(Array("{\"field\":".utf8))
        try object.append(JSONText.escaped(Array(try encoder.encode(field)).span))
        try object.append(Array(",\"item\":".utf8))
        try object.append(JSONText.escaped(Array(try encoder.encode(ItemOutput(item: item))).span))
        try object.append(Array(",\"values\":[".utf8))
        for (index, value) in values.enumerated() {
            if index > 0 { try object.append(Array(",".utf8)) }
            let output = ValueOutput(value, names, number: index + 1)
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

        init(_ value: ItemConflict.Value, _ names: DeviceNames, number: Int) {
            self.number = number
            (device, time) = (names.name(of: value.log), Date.formattedTime(value.time))
            (text, isRemoval, counts) = (value.text, value.isRemoval, number == 1)
        }
    }
}
