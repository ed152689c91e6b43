// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultFormat

/// Parses the value of `vault defaults write`, in the syntax of macOS's `defaults`: a type, then its content.
enum DefaultsArguments {
    /// The change of the existing value.
    enum Change {
        case set(SecretValue)
        case append([SecretValue])
        case merge([String: SecretValue])
    }

    /// - Parameter input: reads a text that is not among the arguments.
    /// - Throws: code 64, without any of the arguments: they may be secret.
    static func change(_ arguments: [String], input: () throws -> String) throws -> Change {
        guard let first = arguments.first else { return .set(.string(try input())) }
        guard first.hasPrefix("-"), first.count > 1, Double(first) == nil else {
            return .set(.string(try only(arguments)))
        }
        let rest = Array(arguments.dropFirst())
        switch first {
        case "-array", "-array-add":
            let elements = try rest.map { SecretValue.string(try plain($0)) }
            return first == "-array" ? .set(.array(elements)) : .append(elements)
        case "-dict", "-dict-add":
            guard rest.count.isMultiple(of: 2) else { throw usage("a dictionary takes keys and values in turn") }
            var members: [String: SecretValue] = [:]
            for index in stride(from: 0, to: rest.count, by: 2) {
                members[try plain(rest[index])] = .string(try plain(rest[index + 1]))
            }
            return first == "-dict" ? .set(.dictionary(members)) : .merge(members)
        default:
            let text = try rest.isEmpty ? input() : only(rest)
            return .set(try scalar(text, of: first))
        }
    }

    private static func scalar(_ text: String, of type: String) throws -> SecretValue {
        switch type {
        case "-string": return .string(text)
        case "-int", "-integer":
            if let value = Int64(text) { return .integer(value) }
            if let value = UInt64(text) { return .unsigned(value) }
            throw usage("-int takes an integer of 64 bits")
        case "-float":
            guard let value = Double(text) else { throw usage("-float takes a number") }
            return .real(value)
        case "-bool", "-boolean":
            guard let value = SecretValue.string(text).lenientBool else { throw usage("-bool takes yes or no") }
            return .bool(value)
        case "-date":
            guard let value = SecretValue.string(text).lenientDate else {
                throw usage("-date takes a time such as 2026-01-31T12:00:00Z")
            }
            return .date(value)
        case "-data":
            guard let bytes = bytes(hexadecimal: text.lowercased()) else {
                throw usage("-data takes hexadecimal digits, two a byte")
            }
            return .data(Data(bytes))
        default: throw usage("no such type of a value")
        }
    }

    private static func only(_ arguments: [String]) throws -> String {
        guard arguments.count == 1 else { throw usage("one value is expected") }
        return arguments[0]
    }

    /// An element that looks like an option is more likely a misplaced option.
    private static func plain(_ argument: String) throws -> String {
        guard !argument.hasPrefix("--"),
            ["-string", "-int", "-float", "-bool", "-date", "-data"].contains(argument) == false
        else { throw usage("elements are texts here; 'vault defaults import' takes any value") }
        return argument
    }

    private static func usage(_ message: String) -> CommandError {
        .usage(message, hint: "see 'vault help defaults write'")
    }
}

extension SecretValue {
    /// The value as printed by macOS's `defaults`: strings literally, containers in braces or parentheses.
    var defaultsText: String {
        if case .string(let string) = self { return string }
        return defaultsText(level: 0)
    }

    private func defaultsText(level: Int) -> String {
        let indent = String(repeating: "    ", count: level)
        switch self {
        case .null: return "null"
        case .bool(let bool): return bool ? "1" : "0"
        case .integer(let integer): return String(integer)
        case .unsigned(let integer): return String(integer)
        case .real(let real): return String(real)
        case .date(let date): return level == 0 ? date.formatted(.iso8601) : "\"\(date.formatted(.iso8601))\""
        case .data(let data):
            return "{length = \(data.count), bytes = 0x\(hexadecimal(Array(data)))}"
        case .string(let string): return SecretValue.quoted(string)
        case .array(let array):
            let lines = array.map { "\(indent)    \($0.defaultsText(level: level + 1))" }
            return lines.isEmpty ? "()" : "(\n\(lines.joined(separator: ",\n"))\n\(indent))"
        case .dictionary(let dictionary):
            let members = dictionary.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            let lines = members.map { key, value in
                "\(indent)    \(SecretValue.quoted(key)) = \(value.defaultsText(level: level + 1));"
            }
            return lines.isEmpty ? "{}" : "{\n\(lines.joined(separator: "\n"))\n\(indent)}"
        }
    }

    private static func quoted(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy(\.isASCIIAlphanumeric)
        return isPlain ? text : "\"" + text.printable.replacing("\"", with: "\\\"") + "\""
    }
}
