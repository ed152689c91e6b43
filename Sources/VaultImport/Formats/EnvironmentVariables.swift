// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// `.env` files: lines `NAME=VALUE`, in the syntax of shells and of the tools that read such files.
package enum EnvironmentVariables {
    /// - Parameter service: the service of the items; the account of each is the name of a variable.
    package static func logins(_ document: Document, service: String) throws(ImportError) -> ImportedLogins {
        var imported = ImportedLogins()
        var places: [String: Int] = [:]
        for (name, value, line) in try variables(document) {
            if value.starts(with: "vault://") {
                imported.looks["references, which stay as they are", default: 0] += 1
                continue
            }
            var login = Login(id: "\(service)/\(name)", place: "line \(line)")
            login.address = .service(service)
            login.title = name
            login.user = name
            login.password = value
            // The last value of a name is the valid one.
            if let earlier = places[name] {
                imported.logins[earlier] = login
            } else {
                places[name] = imported.logins.count
                imported.logins.append(login)
            }
        }
        return imported
    }

    /// Returns the variables in the order of the file, each with its line; the last value of a name is the valid one.
    package static func variables(
        _ document: Document
    ) throws(ImportError) -> [(name: String, value: Secret, line: Int)] {
        var variables: [(name: String, value: Secret, line: Int)] = []
        for line in document.lines {
            if let (name, value) = try variable(document, line) { variables.append((name, value, line.number)) }
        }
        return variables
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    private static let letters = UInt8(ascii: "a")...UInt8(ascii: "z")

    private static func variable(
        _ document: Document, _ line: Document.Line
    ) throws(ImportError) -> (name: String, value: Secret)? {
        let isExported = document.starts(line.text, with: "export ")
        let whole = isExported ? document.trimmed(line.text.lowerBound + 7..<line.text.upperBound) : line.text
        guard !whole.isEmpty, document[whole.lowerBound] != UInt8(ascii: "#") else { return nil }
        let split = document.firstIndex(of: "=", in: whole)
        let name = split.map { document.text(whole.lowerBound..<$0) } ?? ""
        let isName =
            !name.isEmpty
            && name.utf8.allSatisfy { $0 == UInt8(ascii: "_") || digits.contains($0) || letters.contains($0 | 0x20) }
        guard let split, isName, !digits.contains(document[whole.lowerBound]) else {
            throw .malformed(line.place, "this is not NAME=VALUE")
        }
        guard let value = try unquoted(document, split + 1..<whole.upperBound) else {
            throw .malformed(line.place, "a quote is left open")
        }
        guard !value.withBytes({ bytes in bytes.indices.contains { bytes[$0] == 0 } }) else {
            throw .malformed(line.place, "a value has a zero byte")
        }
        return (name, value)
    }

    /// Evaluates quotes as shells do: '…' literally, "…" with the escapes \\n, \\t, \\", \\$ and \\\\, and unquoted
    /// text up to a comment. Returns `nil` for an unclosed quote.
    private static func unquoted(_ document: Document, _ range: Range<Int>) throws(ImportError) -> Secret? {
        var isClosed = false
        let value = try Secret.assembled(capacity: range.count) { buffer throws(CryptoError) in
            isClosed = try document.bytes.withBytes { bytes throws(CryptoError) in
                let value = bytes.trimmed(range)
                guard let quote = value.isEmpty ? nil : bytes[value.lowerBound],
                    quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\"")
                else {
                    var end = value.lowerBound
                    while end < value.upperBound {
                        let isComment = bytes[end] == UInt8(ascii: "#") && end > value.lowerBound
                        if isComment, [0x20, 0x09].contains(bytes[end - 1]) { break }
                        end += 1
                    }
                    try buffer.append(bytes.extracting(bytes.trimmed(value.lowerBound..<end)))
                    return true
                }
                var index = value.lowerBound + 1
                while index < value.upperBound {
                    if bytes[index] == quote {
                        let behind = bytes.trimmed(index + 1..<value.upperBound)
                        return behind.isEmpty || bytes[behind.lowerBound] == UInt8(ascii: "#")
                    }
                    let isEscape = quote == UInt8(ascii: "\"") && bytes[index] == UInt8(ascii: "\\")
                    guard isEscape, index + 1 < value.upperBound else {
                        try buffer.append(bytes[index])
                        index += 1
                        continue
                    }
                    switch bytes[index + 1] {
                    case UInt8(ascii: "n"): try buffer.append(0x0a)
                    case UInt8(ascii: "t"): try buffer.append(0x09)
                    case let escaped where "\"\\$`".utf8.contains(escaped): try buffer.append(escaped)
                    case let other: try buffer.append([UInt8(ascii: "\\"), other])
                    }
                    index += 2
                }
                return false
            }
        }
        return isClosed ? value : nil
    }
}
