// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultFormat

extension AuditLog {
    enum Verb: String {
        case unlock, lock, find
        /// A secret was handed out, to be shown or to a command.
        case reveal, use
        case add, set, update, delete
        case `import`, forget
        case sync
        /// A person was asked for the passphrase, and has given it.
        case authenticate
        case stop, refused

        init(_ change: QueriedChange) {
            self =
                switch change {
                case .update: .update
                case .delete: .delete
                }
        }
    }

    /// A line without its MAC. None is longer than a few KiB, whatever a program is named.
    package struct Entry: Codable, Sendable {
        package internal(set) var time: String
        package internal(set) var verb: String
        package internal(set) var items: [String]
        package internal(set) var count: Int?
        package internal(set) var error: String?
        package internal(set) var pid: Int32
        package internal(set) var executable: String?
        package internal(set) var unit: String?
        package internal(set) var flatpak: String?
        /// The client that spoke for the process; `nil` if the process was the client.
        package internal(set) var via: Door?
        package internal(set) var n = 0
        /// 2 in a log that has a head.
        package internal(set) var v: Int? = 2

        package struct Door: Codable, Sendable {
            package internal(set) var pid: Int32
            package internal(set) var executable: String?
        }

        /// The most items that a line names. An action on more has several lines.
        static let mostItems = 64

        init(
            _ verb: Verb, _ items: [String] = [], count: Int? = nil, error: String? = nil, by caller: Caller,
            at date: Date
        ) {
            (self.verb, self.items, self.count, self.error) = (verb.rawValue, items, count, error)
            time = Entry.text(date)
            pid = caller.process.id
            executable = caller.process.program.map(Entry.capped)
            unit = caller.process.unit.map(Entry.capped)
            flatpak = caller.process.flatpak.map(Entry.capped)
            via = caller.door.map { Door(pid: $0.id, executable: $0.program.map(Entry.capped)) }
        }

        static func text(_ date: Date) -> String {
            date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        }

        /// Returns a name that a process has chosen; of one that is longer than 256 bytes the beginning, an ellipsis,
        /// and a hash by which two such names can be told apart.
        static func capped(_ text: String) -> String {
            guard text.utf8.count > 256 else { return text }
            var hash = KeyedHash()
            hash.update(Array(text.utf8))
            let digits = hexadecimal(hash.digest().bytes.span.array(0..<8))
            // A character that is cut becomes a replacement character.
            return String(decoding: text.utf8.prefix(224), as: UTF8.self) + "…#" + digits
        }

        /// The line up to its MAC: the JSON without its last brace.
        func line(_ number: Int) -> [UInt8]? {
            var entry = self
            entry.n = number
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return (try? Array(encoder.encode(entry)))?.dropLast()
        }
    }
}
