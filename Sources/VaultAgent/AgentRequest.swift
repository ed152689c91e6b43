// SPDX-License-Identifier: Apache-2.0
package import Vault
internal import VaultCrypto

/// What a client asks of an agent.
package enum AgentRequest: Sendable {
    /// The first of a connection: which vault, as whom, and what for.
    ///
    /// - Parameters:
    ///   - vault: the path of the file, without symbolic links; empty: whichever it is.
    ///   - groups: the caller's access groups; nil: those that the agent has for it.
    ///   - purpose: what secrets are wanted for.
    ///   - isNamed: whether somebody has named the groups: a program's own one gives way to those that a policy has for
    ///     it.
    case hello(vault: String, groups: [String]?, purpose: AgentClient.Purpose, isNamed: Bool = true)
    /// The only request that does not count as use.
    case status
    /// Waits until nobody else is being asked for the passphrase. The answer says whether there is still something to
    /// unlock.
    case awaitTurn
    case unlock(UnlockingSecret)
    case lock
    case add(Item)
    case set(Item)
    case copyMatching(Query)
    case update(Query, ItemChanges)
    case delete(Query)
    /// A part of what is stored in one transaction, which begins with the last part.
    case store([Item], replacing: Bool, isLast: Bool)
    case secret(StoredItem.Key)
    case compact
    case verify(deep: Bool)
    /// Older versions of items, or deleted ones.
    case versions(Query, deleted: Bool)
    case undo(StoredItem.Key, to: UInt64?)
    case restoreItem(StoredItem.Key)
    case forget(accessGroup: String)
    /// The identifier of the device under a name, made when there is none, or anew.
    case deviceIdentifier(name: String, thisDeviceOnly: Bool, reset: Bool)
    /// How many of the items that match a locked vault leaves out.
    case lockedCount(Query)
    /// After how many seconds without use the agent locks from now on; 0: never.
    case setIdleLimit(UInt32)
    /// Checks the audit log.
    case audit
    /// Ends the agent.
    case stop

    private enum Kind: UInt8 {
        case hello = 1
        case status = 2
        case awaitTurn = 3
        case unlock = 4
        case lock = 5
        case add = 6
        case set = 7
        case copyMatching = 8
        case update = 9
        case delete = 10
        case store = 11
        case secret = 12
        case compact = 13
        case verify = 14
        case audit = 15
        case stop = 16
        case versions = 17
        case undo = 18
        case restoreItem = 19
        case forget = 20
        case deviceIdentifier = 21
        case lockedCount = 22
        case setIdleLimit = 23
        case helloOfProgram = 24
    }

    /// Whether nothing is different when it is sent a second time.
    var onlyReads: Bool {
        switch self {
        case .hello, .status, .awaitTurn, .copyMatching, .secret, .verify, .versions, .lockedCount, .audit: true
        default: false
        }
    }

    private var kind: Kind {
        switch self {
        case .hello(_, _, _, let isNamed): isNamed ? .hello : .helloOfProgram
        case .status: .status
        case .awaitTurn: .awaitTurn
        case .unlock: .unlock
        case .lock: .lock
        case .add: .add
        case .set: .set
        case .copyMatching: .copyMatching
        case .update: .update
        case .delete: .delete
        case .store: .store
        case .secret: .secret
        case .compact: .compact
        case .verify: .verify
        case .versions: .versions
        case .undo: .undo
        case .restoreItem: .restoreItem
        case .forget: .forget
        case .deviceIdentifier: .deviceIdentifier
        case .lockedCount: .lockedCount
        case .setIdleLimit: .setIdleLimit
        case .audit: .audit
        case .stop: .stop
        }
    }

    package func frame(_ number: UInt32) -> Frame {
        var writer = MessageWriter()
        switch self {
        case .hello(let vault, let groups, let purpose, _):
            writer.put(vault)
            writer.put(groups) { writer, groups in writer.putAll(groups) { $0.put($1) } }
            writer.put(purpose.rawValue)
        case .status, .awaitTurn, .lock, .compact, .audit, .stop: break
        case .unlock(.passphrase(let passphrase)):
            writer.put(1 as UInt8)
            writer.put(passphrase.secret)
        case .unlock(.keyFile(let keyFile)):
            writer.put(2 as UInt8)
            writer.put(keyFile.secret)
        case .unlock(.recoveryCode(let code)):
            writer.put(3 as UInt8)
            writer.put(code.secret)
        case .unlock(.external(let secret)):
            writer.put(4 as UInt8)
            writer.put(secret)
        case .unlock(.passphraseAndKeyFile(let passphrase, let keyFile)):
            writer.put(5 as UInt8)
            writer.put(passphrase.secret)
            writer.put(keyFile.secret)
        case .add(let item), .set(let item): writer.put(new: item)
        case .copyMatching(let query), .delete(let query), .lockedCount(let query): writer.put(query)
        case .update(let query, let changes):
            writer.put(query)
            writer.put(changes)
        case .store(let items, let replacing, let isLast):
            writer.putAll(items) { $0.put(new: $1) }
            writer.put(replacing)
            writer.put(isLast)
        case .secret(let key): writer.put(key)
        case .verify(let deep): writer.put(deep)
        case .versions(let query, let deleted):
            writer.put(query)
            writer.put(deleted)
        case .undo(let key, let version):
            writer.put(key)
            writer.put(version) { $0.put($1) }
        case .restoreItem(let key): writer.put(key)
        case .forget(let group): writer.put(group)
        case .deviceIdentifier(let name, let isBound, let reset):
            writer.put(name)
            writer.put(isBound)
            writer.put(reset)
        case .setIdleLimit(let seconds): writer.put(seconds)
        }
        return Frame(kind: kind.rawValue, number: number, writer)
    }

    /// - Throws: for anything but what ``frame(_:)`` makes.
    package init(_ frame: Frame) throws(MessageError) {
        guard let kind = Kind(rawValue: frame.kind) else { throw .invalid }
        var reader = MessageReader(frame)
        switch kind {
        case .hello, .helloOfProgram:
            let vault = try reader.text()
            let groups = try reader.optional { reader throws(MessageError) in
                try reader.all { reader throws(MessageError) in try reader.text() }
            }
            guard let purpose = AgentClient.Purpose(rawValue: try reader.integer()) else { throw .invalid }
            self = .hello(vault: vault, groups: groups, purpose: purpose, isNamed: kind == .hello)
        case .status: self = .status
        case .awaitTurn: self = .awaitTurn
        case .unlock: self = .unlock(try reader.unlockingSecret())
        case .lock: self = .lock
        case .add: self = .add(try reader.newItem())
        case .set: self = .set(try reader.newItem())
        case .copyMatching: self = .copyMatching(try reader.query())
        case .update: self = .update(try reader.query(), try reader.changes())
        case .delete: self = .delete(try reader.query())
        case .store:
            let items = try reader.all { reader throws(MessageError) in try reader.newItem() }
            self = .store(items, replacing: try reader.flag(), isLast: try reader.flag())
        case .secret: self = .secret(try reader.recordKey())
        case .compact: self = .compact
        case .verify: self = .verify(deep: try reader.flag())
        case .versions: self = .versions(try reader.query(), deleted: try reader.flag())
        case .undo:
            let key = try reader.recordKey()
            self = .undo(key, to: try reader.optional { reader throws(MessageError) in try reader.integer() })
        case .restoreItem: self = .restoreItem(try reader.recordKey())
        case .forget: self = .forget(accessGroup: try reader.text())
        case .deviceIdentifier:
            self = .deviceIdentifier(
                name: try reader.text(), thisDeviceOnly: try reader.flag(), reset: try reader.flag())
        case .lockedCount: self = .lockedCount(try reader.query())
        case .setIdleLimit: self = .setIdleLimit(try reader.integer())
        case .audit: self = .audit
        case .stop: self = .stop
        }
        try reader.end()
    }
}

extension MessageReader {
    fileprivate mutating func unlockingSecret() throws(MessageError) -> UnlockingSecret {
        let kind = try integer(UInt8.self)
        let first = try secret()
        let second = kind == 5 ? try secret() : first
        do throws(CryptoError) {
            switch kind {
            case 1: return .passphrase(try Passphrase(first.bytes))
            case 2: return .keyFile(try KeyFile(digest: first))
            case 3: return .recoveryCode(try RecoveryCode(secret: first))
            case 4 where first.count == 32: return .external(first)
            case 5: return .passphraseAndKeyFile(try Passphrase(first.bytes), try KeyFile(digest: second))
            default: throw .unacceptableKeyFile
            }
        } catch {
            throw .invalid
        }
    }
}

extension AgentRequest {
    /// The most that the items of one part may take; one alone may take more.
    static let longestPart = 128 << 10

    /// How much of a frame an item takes. Its secret counts for less, since a frame has more room for those.
    static func size(of item: Item) -> Int {
        var writer = MessageWriter()
        writer.put(new: item)
        return writer.body.count + writer.secretsLength / 128
    }
}
