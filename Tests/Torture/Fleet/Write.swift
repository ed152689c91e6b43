// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A change by one command, which takes effect as a whole if the command ends with 0.
enum Write: Sendable {
    static let service = "fleet"

    case add(String)
    /// Sets the next value of an item of the same home.
    case set(String, version: Int)
    /// Sets the next value of an item of another home, once this home has received the previous value.
    case take(String, version: Int)
    case importing([String])
    /// Changes an item that all homes change concurrently.
    case share(String, text: String)
    case delete(String)

    /// The number of values that an acknowledgement covers.
    var count: Int {
        switch self {
        case .add, .set, .take, .share: 1
        case .importing(let accounts): accounts.count
        case .delete: 0
        }
    }

    var verb: String {
        switch self {
        case .add: "add"
        case .set, .share: "set"
        case .take: "update"
        case .importing: "import"
        case .delete: "delete"
        }
    }

    /// The accounts with known values.
    var accounts: [String] {
        switch self {
        case .add(let account), .set(let account, _), .take(let account, _): [account]
        case .importing(let accounts): accounts
        case .share, .delete: []
        }
    }

    var version: Int {
        switch self {
        case .set(_, let version), .take(_, let version): version
        case .add, .importing, .share, .delete: 0
        }
    }

    /// The ending of accounts whose values do not fit into a record.
    static let largeEnding = "-large"

    static func value(_ account: String, version: Int) -> String {
        let text = "\(account) \(version)"
        guard account.hasSuffix(largeEnding) else { return text }
        // One part of a blob, or two for one in eight values: every home of a large fleet keeps each value twice.
        let number = account.utf8.reduce(0) { ($0 * 31 + Int($1)) % 160_000 }
        let size = 66_000 + number / 8 + (number % 8 == 0 ? 240_000 : 0)
        return String(repeating: text + "\n", count: size / (text.utf8.count + 1) + 1)
    }

    /// Writes the command's input below a directory of its own.
    ///
    /// - Returns: the arguments of the command.
    func arguments(inputAt place: String) throws -> [String] {
        switch self {
        case .add(let account):
            try Data(Self.value(account, version: 0).utf8).write(to: URL(filePath: place))
            return ["add", Self.service, account, "--file", place]
        case .set(let account, let version):
            try Data(Self.value(account, version: version).utf8).write(to: URL(filePath: place))
            return ["set", Self.service, account, "--file", place]
        case .take(let account, let version):
            try Data(Self.value(account, version: version).utf8).write(to: URL(filePath: place))
            return ["update", Self.service, account, "--file", place]
        case .share(let account, let text):
            try Data(text.utf8).write(to: URL(filePath: place))
            return ["set", "shared", account, "--file", place]
        case .importing(let accounts):
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            for account in accounts {
                try Data(Self.value(account, version: 0).utf8).write(to: URL(filePath: "\(place)/\(account)"))
            }
            return ["import", "--files", place, "--service", Self.service]
        case .delete(let account): return ["delete", Self.service, account, "--yes"]
        }
    }
}

/// The values that each home must have: each acknowledged value, or a later one that its home tried to write.
struct Ledger {
    private struct Entry {
        var home: Int
        var round: Int
        var version = 0
        var isAcknowledged = false
        /// The acknowledged version, and the versions of commands killed since, which may have taken effect.
        var allowed: Set<Int> = []
    }

    private var entries: [String: Entry] = [:]
    /// Accounts whose deletion was acknowledged.
    private(set) var deleted: Set<String> = []
    /// By home, the accounts that the home may change again.
    private var changeable: [Int: [String]] = [:]

    var acknowledged: [(account: String, home: Int, round: Int)] {
        entries.filter(\.value.isAcknowledged).map { ($0.key, $0.value.home, $0.value.round) }.sorted { $0.0 < $1.0 }
    }

    /// Whether the text is a value that the account may have.
    func allows(_ text: String, for account: String) -> Bool {
        entries[account]?.allowed.contains { Write.value(account, version: $0) == text } ?? true
    }

    /// Returns an item of the home with its next version. The item is not handed out again before that change has
    /// ended.
    mutating func takeChange(of home: Int, at index: Int) -> (account: String, version: Int)? {
        guard let accounts = changeable[home], !accounts.isEmpty else { return nil }
        let account = accounts[index % accounts.count]
        changeable[home]?.removeAll { $0 == account }
        return (account, (entries[account]?.version ?? 0) + 1)
    }

    /// Returns an item of any home like ``takeChange(of:at:)``. The home that takes the item must have received its
    /// value.
    mutating func takeOver(at index: Int) -> (account: String, version: Int)? {
        let homes = changeable.keys.sorted().filter { !(changeable[$0] ?? []).isEmpty }
        guard !homes.isEmpty else { return nil }
        return takeChange(of: homes[index % homes.count], at: index / homes.count)
    }

    /// Returns an item to the ledger: the home that was to take it over has not received its value yet.
    mutating func giveBack(_ account: String) {
        guard let entry = entries[account], let version = entry.allowed.min() else { return }
        entries[account]?.allowed = [version]
        entries[account]?.version = version
        changeable[entry.home, default: []].append(account)
    }

    mutating func begin(_ write: Write, home: Int, round: Int) {
        for account in write.accounts {
            entries[account, default: Entry(home: home, round: round)].version = write.version
            entries[account]?.allowed.insert(write.version)
        }
        // From now on, the item may be deleted.
        if case .delete(let account) = write { entries[account] = nil }
    }

    mutating func end(_ write: Write, home: Int, round: Int, isAcknowledged: Bool) {
        if isAcknowledged, case .delete(let account) = write { deleted.insert(account) }
        for account in write.accounts {
            // An agent may still execute the request of a killed client, so the item is not changed again.
            guard isAcknowledged else { continue }
            entries[account]?.allowed = [write.version]
            entries[account]?.isAcknowledged = true
            entries[account]?.round = round
            entries[account]?.home = home
            changeable[home, default: []].append(account)
        }
    }
}
