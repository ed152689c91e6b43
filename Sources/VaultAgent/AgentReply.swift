// SPDX-License-Identifier: Apache-2.0
package import FoundationEssentials
package import Vault
package import VaultCrypto
package import VaultStorage

/// What an agent answers.
package enum AgentReply: Sendable {
    case done
    case failure(VaultError)
    case status(AgentStatus)
    case count(UInt64)
    case items([StoredItem], isLast: Bool)
    case secret(Secret?)
    case verification(VaultStore.Verification)
    case identifier(UUID)
    /// How many entries the audit log has, and which is the first that is not what was written.
    case audit(entries: UInt64, firstChanged: UInt64?)

    private enum Kind: UInt8 {
        case done = 128
        case failure = 129
        case status = 130
        case count = 131
        case items = 132
        case secret = 133
        case verification = 134
        case audit = 135
        case identifier = 136
    }

    package func frame(_ number: UInt32) -> Frame {
        var writer = MessageWriter()
        let kind: Kind
        switch self {
        case .done: kind = .done
        case .failure(let error):
            kind = .failure
            writer.put(error)
        case .status(let status):
            kind = .status
            writer.put(status)
        case .count(let count):
            kind = .count
            writer.put(count)
        case .items(let items, let isLast):
            kind = .items
            writer.putAll(items) { $0.put($1) }
            writer.put(isLast)
        case .secret(let secret):
            kind = .secret
            writer.put(secret) { $0.put($1) }
        case .verification(let result):
            kind = .verification
            for number in [
                result.items, result.versions, result.values, result.opened, result.commits, result.foreign,
                result.unfinishedBytes,
                result.invalidMarks,
            ] {
                writer.put(UInt64(number))
            }
        case .identifier(let identifier):
            kind = .identifier
            writer.put(identifier.uuidString)
        case .audit(let entries, let firstChanged):
            kind = .audit
            writer.put(entries)
            writer.put(firstChanged) { $0.put($1) }
        }
        return Frame(kind: kind.rawValue, number: number, writer)
    }

    /// - Throws: for anything but what ``frame(_:)`` makes.
    package init(_ frame: Frame) throws(MessageError) {
        guard let kind = Kind(rawValue: frame.kind) else { throw .invalid }
        var reader = MessageReader(frame)
        switch kind {
        case .done: self = .done
        case .failure: self = .failure(try reader.error())
        case .status: self = .status(try reader.status())
        case .count: self = .count(try reader.integer())
        case .items:
            self = .items(
                try reader.all { reader throws(MessageError) in try reader.storedItem() }, isLast: try reader.flag())
        case .secret: self = .secret(try reader.optional { reader throws(MessageError) in try reader.secret() })
        case .verification:
            var numbers: [Int] = []
            for _ in 0..<8 {
                guard let number = Int(exactly: try reader.integer(UInt64.self)) else { throw .invalid }
                numbers.append(number)
            }
            self = .verification(
                VaultStore.Verification(
                    items: numbers[0], versions: numbers[1], values: numbers[2], opened: numbers[3],
                    commits: numbers[4],
                    foreign: numbers[5], unfinishedBytes: numbers[6], invalidMarks: numbers[7]))
        case .identifier:
            let text = try reader.text()
            guard let identifier = UUID(uuidString: text), identifier.uuidString == text else { throw .invalid }
            self = .identifier(identifier)
        case .audit:
            self = .audit(
                entries: try reader.integer(),
                firstChanged: try reader.optional { reader throws(MessageError) in try reader.integer() })
        }
        try reader.end()
    }
}
