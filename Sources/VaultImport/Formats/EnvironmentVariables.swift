// SPDX-License-Identifier: Apache-2.0
package import VaultCrypto

/// `.env` files: lines `NAME=VALUE`, in the syntax of shells and of the tools that read such files.
package enum EnvironmentVariables {
    /// - Parameter service: the service of the items; the account of each is the name of a variable.
    package static func logins(_ document: Document, service: String) throws(ImportError) -> ImportedLogins {
        var imported = ImportedLogins()
        var places: [String: Int] = [:]
        for (name, value, line) in try variables(document) {
            let place = "line \(line)"
            if value.withBytes({ $0.starts(0..<$0.count, with: "vault://") }) {
                imported.looks["references, which stay as they are", default: 0] += 1
                continue
            }
            var login = Login(id: "\(service)/\(name)", place: place)
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
    ///
    /// - Throws: `.malformed` with the number of a line that cannot be parsed, but none of its content.
    package static func variables(
        _ document: Document
    ) throws(ImportError) -> [(name: String, value: Secret, line: Int)] {
        var variables: [(name: String, value: Secret, line: Int)] = []
        for (index, line) in document.lines.enumerated() {
            guard let (name, value) = try variable(document, line, "line \(index + 1)") else { continue }
            variables.append((name, value, index + 1))
        }
        return variables
    }

    /// Returns the variable of a line; `nil` for a blank line or a comment.
    private static func variable(
        _ document: Document, _ line: Range<Int>, _ place: String
    ) throws(ImportError) -> (name: String, value: Secret)? {
        let flaw = ImportError.malformed(place, "this is not NAME=VALUE")
        let (whole, split) = document.bytes.withBytes { bytes in
            var whole = bytes.trimmed(line)
            if bytes.starts(whole, with: "export ") {
                whole = bytes.trimmed(whole.lowerBound + 7..<whole.upperBound)
            }
            return (whole, bytes.firstIndex(of: UInt8(ascii: "="), in: whole))
        }
        guard !whole.isEmpty, document.bytes.withBytes({ $0[whole.lowerBound] != UInt8(ascii: "#") }) else {
            return nil
        }
        guard let split else { throw flaw }
        let name = document.text(whole.lowerBound..<split)
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
            name.utf8.allSatisfy({ isOfName($0) })
        else { throw flaw }
        guard let value = try unquoted(document, split + 1..<whole.upperBound) else {
            throw .malformed(place, "a quote is left open")
        }
        guard !value.withBytes({ bytes in bytes.indices.contains { bytes[$0] == 0 } }) else {
            throw .malformed(place, "a value has a zero byte")
        }
        return (name, value)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Evaluates quotes as shells do: '…' literally, "…" with the escapes \\n, \\t, \\", \\$ and \\\\, and unquoted
    /// text up to a comment. Returns `nil` for an unclosed quote.
    private static func unquoted(_ document: Document, _ range: Range<Int>) throws(ImportError) -> Secret? {
        let isClosed: Bool
        var buffer = try secured(try SecretBuffer(capacity: range.count))
        do throws(CryptoError) {
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
        } catch { throw .cryptography(error) }
        guard isClosed else { return nil }
        return try secured(Secret(try buffer.take()))
    }
}
