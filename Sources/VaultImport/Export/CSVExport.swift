// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
package import VaultCrypto

/// Logins as comma-separated values, in the columns of a product.
package enum CSVExport {
    package static func text(_ entries: inout ExportedEntries, for layout: CSVLayout) throws(ImportError) -> Secret {
        entries.leaveOutPasskeys()
        var writer = try CSVWriter(quotesAll: layout.product == "firefox")
        for column in layout.columns { try writer.cell(Secret(plain: column.name)) }
        try writer.endRow()
        let columns = layout.columns.map(\.column)
        let isOwn = layout.product == CSVLayout.own
        if isOwn { try entries.separateAttachments() }
        entries.settle(for: layout.product)
        for var entry in entries.entries {
            if isOwn {
                try entry.encodeBinaries()
                entry.stateKind()
            }
            guard entry.password?.isPlainText ?? true else {
                entries.leaveOutWhole("logins whose password is no text")
                continue
            }
            for column in columns {
                switch column {
                case .password: try writer.cell(entry.password)
                case .otp: try writer.cell(entry.otp)
                case .notes: try writer.cell(entry.notes)
                default: try writer.cell(Secret(plain: text(entry, column, layout.product)))
                }
            }
            try writer.endRow()
            count(entry, columns, &entries)
        }
        return try writer.text()
    }

    private static func text(_ entry: ExportEntry, _ column: CSVLayout.Column, _ product: String) -> String {
        switch column {
        case .title: entry.title
        case .url: entry.urls.first ?? ""
        case .user: entry.user
        case .folder: product == "lastpass" ? entry.folder.replacing("/", with: "\\") : entry.folder
        case .created: product == "firefox" ? milliseconds(entry.created) : entry.created.formatted(.iso8601)
        case .modified: product == "firefox" ? milliseconds(entry.modified) : entry.modified.formatted(.iso8601)
        case .id: entry.id(in: product) ?? "{\(entry.id.uuidString.lowercased())}"
        case .attribute(ItemNames.tags): entry.tags.joined(separator: product == CSVLayout.own ? "\n" : ",")
        case .attribute(let name): entry.attributes.first { $0.name == name }?.value ?? ""
        case .password, .otp, .notes, .field, .ignored, .urls, .email, .kind, .custom: ""
        }
    }

    private static func milliseconds(_ date: Date) -> String { String(Int64(date.timeIntervalSince1970 * 1000)) }

    private static func count(_ entry: ExportEntry, _ columns: [CSVLayout.Column], _ entries: inout ExportedEntries) {
        entries.leaveOut("one-time password seeds", entry.otp == nil || columns.contains(.otp) ? 0 : 1)
        entries.leaveOut("notes", entry.notes == nil || columns.contains(.notes) ? 0 : 1)
        entries.leaveOut("folders", entry.folder.isEmpty || columns.contains(.folder) ? 0 : 1)
        entries.leaveOut("fields", entry.fields.count)
        let others = entry.attributes.filter { !columns.contains(.attribute($0.name)) }
        entries.leaveOut("attributes", others.count { !Statement.all.contains($0.name) })
        entries.leaveOutOwn(others)
        entries.leaveOut("attachments", entry.attachments.count)
        entries.leaveOut("further URLs", max(0, entry.urls.count - 1))
    }
}

private struct CSVWriter: ~Copyable {
    private var buffer: SecretBuffer
    private let quotesAll: Bool
    private var isFirst = true

    init(quotesAll: Bool) throws(ImportError) {
        self.quotesAll = quotesAll
        buffer = try secured(try SecretBuffer(capacity: 65_536))
    }

    mutating func cell(_ secret: Secret?) throws(ImportError) { try secured(try write(secret)) }

    private mutating func write(_ secret: Secret?) throws(CryptoError) {
        if !isFirst { try buffer.append(UInt8(ascii: ",")) }
        isFirst = false
        try secret?.withBytes { bytes throws(CryptoError) in
            let needsQuotes = bytes.indices.contains { ",\"\n\r".utf8.contains(bytes[$0]) }
            let hasBlank = bytes.count > 0 && (bytes[0] == 0x20 || bytes[bytes.count - 1] == 0x20)
            guard needsQuotes || hasBlank || quotesAll else { return try buffer.append(bytes) }
            try buffer.append(UInt8(ascii: "\""))
            for index in bytes.indices {
                if bytes[index] == UInt8(ascii: "\"") { try buffer.append(bytes[index]) }
                try buffer.append(bytes[index])
            }
            try buffer.append(UInt8(ascii: "\""))
        }
    }

    mutating func endRow() throws(ImportError) {
        isFirst = true
        try secured(try buffer.append([0x0d, 0x0a]))
    }

    mutating func text() throws(ImportError) -> Secret { try secured(Secret(try buffer.take())) }
}
