// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import SystemPackage
internal import Vault
internal import VaultAgent
internal import VaultFormat
internal import VaultStorage

extension AccessGroups {
    /// Returns the group of an option, else those of the environment, else all: the command is the owner's tool, and
    /// adds items to `default`.
    static func named(_ group: String?) -> AccessGroups {
        group.map { AccessGroups([$0]) } ?? .ofEnvironment ?? .ofCommand
    }

    static let ofCommand: AccessGroups = ["default", "*"]
}

extension Option {
    /// - Parameter help: what a file is for, whose path the option takes.
    init(file help: String) where Value == String? {
        self.init(help: ArgumentHelp(help, valueName: "file"), completion: .file())
    }
}

/// The option that selects a vault.
struct VaultFileOptions: ParsableArguments {
    @Option(file: "The vault file.")
    var vault: String?

    func path() throws -> FilePath {
        if let vault {
            guard !vault.isEmpty, !vault.hasSuffix("/") else { throw CommandError.usage("--vault takes a file") }
            return FilePath(vault)
        }
        guard let path = Vault.defaultPath else {
            guard BaseDirectories.path("XDG_DATA_HOME", ".local/share").map(BaseDirectories.isAnothers) != true else {
                throw CommandError(
                    .inputOutput, "the home directory is another user's, who could not use files of root in it",
                    hint: "run it as that user, or name a vault: --vault FILE")
            }
            throw CommandError(
                .inputOutput, "there is no directory for a vault", hint: "set HOME or VAULT_FILE, or use --vault FILE")
        }
        return path
    }
}

/// The options that select a vault and unlock it.
struct VaultOptions: ParsableArguments {
    @OptionGroup var file: VaultFileOptions
    @OptionGroup var unlocking: UnlockOptions

    var passphrase: PassphraseOptions { unlocking.passphrase }

    /// Runs the body on the vault opened in this process, even if an agent has it open: for operations on its file and
    /// its keys.
    ///
    /// - Parameters:
    ///   - before: asks questions once the vault is found, and before its passphrase.
    ///   - body: also receives the secret that opened the vault.
    func withOpened<R>(
        _ groups: AccessGroups = .ofCommand, acceptsOlderCopy: Bool = false, asksMachine: Bool = true,
        before: () throws -> Void = {},
        _ body: (Vault, UnlockingSecret) throws -> R
    ) throws -> R {
        let locked = try locked()
        try checkKeys(of: locked, asksMachine: asksMachine)
        try before()
        return try naming(locked) {
            let (vault, secret) = try unlocking.opening(UnlockTarget(locked), asksMachine: asksMachine) { secret in
                try Progress.during("unlocking") { _ in
                    (try locked.unlock(with: secret, accessGroups: groups, acceptsOlderCopy: acceptsOlderCopy), secret)
                }
            }
            defer {
                vault.close()
                if vault.discardedBytes > 0 {
                    Output.note("cut off \(vault.discardedBytes) bytes of an unfinished change")
                }
            }
            return try body(vault, secret)
        }
    }

    /// Explains why the agent cannot help here, before the user wonders about the prompt.
    private func checkKeys(of locked: LockedVault, asksMachine: Bool) throws {
        guard !unlocking.hasSource, !(asksMachine && UnlockTarget(locked).canAskMachine),
            let client = try? VaultFinder.agent(of: locked.path, .ofCommand, doWithout: { _ in }),
            client.greeting.state == .unlocked
        else { return }
        guard Terminal() == nil else {
            return Output.note("this needs the vault's keys, which never leave the agent, and therefore the passphrase")
        }
        throw CommandError(
            .locked, "the agent has the vault open, but this needs the vault's keys, which never leave the agent",
            hint: "--passphrase-file FILE or $VAULT_PASSPHRASE_FILE")
    }

    /// Finds the vault, before the passphrase is asked for.
    func locked() throws -> LockedVault {
        try unlocking.checkKeyIsAlone()
        let path = try file.path()
        do throws(VaultError) { return try LockedVault(at: path) } catch { throw CommandError(error, at: path) }
    }

    /// Runs the body, and adds the vault's name to its errors.
    func naming<R>(_ vault: LockedVault, _ body: () throws -> R) throws -> R {
        do { return try body() } catch let error as VaultError { throw CommandError(error, at: vault.givenPath) }
    }

    /// Finds the vault and a way to open it.
    func access(
        _ groups: AccessGroups, for purpose: AgentClient.Purpose = .reveal, onlyReads: Bool = false,
        asksFirst: Bool = false
    ) throws -> VaultAccess {
        try VaultAccess(self, groups: groups, purpose: purpose, onlyReads: onlyReads && !asksFirst)
    }

    /// Like ``access(_:for:onlyReads:asksFirst:)``, for items that the user's own programs use without checking: a
    /// sandboxed application can store anything in its own group, such as a credential for the user's tools.
    ///
    /// - Parameter named: the groups named by the user; `nil` for those that a rule assigns to this command, else
    ///   `default`.
    func trustedAccess(
        _ named: AccessGroups? = .ofEnvironment, onlyReads: Bool = false
    ) throws -> VaultAccess {
        try VaultAccess(
            self, groups: named ?? .standard, givesWay: named == nil, purpose: .reveal, onlyReads: onlyReads)
    }
}

extension VaultOptions {
    init?(_ plain: inout PlainArguments) {
        self.init()
        file = VaultFileOptions()
        file.vault = plain.value("--vault")
        unlocking = UnlockOptions()
        unlocking.passphrase = PassphraseOptions()
        unlocking.passphrase.passphraseFile = plain.value("--passphrase-file")
        unlocking.passphrase.passphraseFd = nil
        unlocking.keyFile = plain.value("--key-file")
        unlocking.recoveryCodeFile = nil
        unlocking.securityKey = SecurityKeyOptions()
        unlocking.securityKey.fido2 = false
        unlocking.securityKey.fido2Device = nil
        guard unlocking.passphrase.isValid, unlocking.isValid else { return nil }
    }
}

/// The class of a command's items.
enum ClassOption: String, ExpressibleByArgument, CaseIterable {
    case generic, internet, certificate, key

    var itemClass: ItemClass {
        switch self {
        case .generic: .genericPassword
        case .internet: .internetPassword
        case .certificate: .certificate
        case .key: .key
        }
    }

    init(_ itemClass: ItemClass) {
        switch itemClass {
        case .genericPassword: self = .generic
        case .internetPassword: self = .internet
        case .certificate: self = .certificate
        case .key: self = .key
        }
    }
}

/// The target of a search: items of a class, or identities, which are pairs of items.
enum FoundClass: ExpressibleByArgument {
    case items(ClassOption)
    case identity

    init?(argument: String) {
        if argument == "identity" {
            self = .identity
        } else if let option = ClassOption(argument: argument) {
            self = .items(option)
        } else {
            return nil
        }
    }

    static var allValueStrings: [String] { ClassOption.allValueStrings + ["identity"] }
}

/// A user attribute, as NAME=VALUE.
struct UserAttribute: ExpressibleByArgument {
    var name: String
    var value: String

    init?(argument: String) {
        guard let split = argument.firstIndex(of: "=") else { return nil }
        name = String(argument[..<split])
        value = String(argument[argument.index(after: split)...])
        guard (1...255).contains(name.utf8.count) else { return nil }
    }
}

/// The arguments that select an item: a service or server, an account, and further ones if those are ambiguous.
struct ItemSelection: ParsableArguments {
    @Argument(help: "The service; with --class internet, the server.", completion: ItemCompletion.services)
    var service: String

    @Argument(help: "The account; any if omitted, \"\" for the empty one.", completion: ItemCompletion.accounts)
    var account: String?

    @Option(
        name: .customLong("class"),
        help: "generic or internet; if omitted generic, or internet if there is none.")
    var itemClass: ClassOption?

    @Option(name: .customLong("protocol"), help: "Internet: the protocol, such as https.")
    var protocolName: String?

    @Option(help: "Internet: the port.")
    var port: Int?

    @Option(help: "Internet: the path.")
    var path: String?

    @Option(help: "Internet: the security domain.")
    var domain: String?

    @Option(help: "The access group.")
    var group: String?

    func validate() throws {
        guard itemClass.map({ $0 == .generic || $0 == .internet }) ?? true else {
            throw ValidationError("--class takes generic or internet here")
        }
        let isInternet = protocolName != nil || port != nil || path != nil || domain != nil
        guard itemClass == .internet || !isInternet else {
            throw ValidationError("--protocol, --port, --path and --domain go with --class internet")
        }
        if let port, !(0...65535).contains(port) { throw ValidationError("--port takes 0 to 65535") }
        guard !service.isEmpty else { throw ValidationError("the service is empty") }
        guard !service.hasPrefix(SecretReference.scheme) else {
            throw ValidationError("a reference is not a service: 'vault read' prints its value")
        }
    }

    init() {}

    init?(_ plain: inout PlainArguments) {
        guard let service = plain.word() else { return nil }
        (self.service, account) = (service, plain.word())
        (itemClass, protocolName, port, path, domain) = (nil, nil, nil, nil, nil)
        group = plain.value("--group")
        guard isValid else { return nil }
    }

    /// The named group, else the caller's groups.
    var groups: AccessGroups { .named(group) }

    /// The classes in which an existing item is looked for, in order.
    private var classes: [ClassOption] { itemClass.map { [$0] } ?? [.generic, .internet] }

    private func attributes(of itemClass: ClassOption) -> [Attribute: AttributeValue] {
        var attributes: [Attribute: AttributeValue] = [itemClass == .internet ? .server : .service: .string(service)]
        attributes[.account] = account.map(AttributeValue.string)
        attributes[.protocolName] = protocolName.map { .string(ProtocolNames.code($0)) }
        attributes[.port] = port.map { .number(Int64($0)) }
        attributes[.path] = path.map(AttributeValue.string)
        attributes[.securityDomain] = domain.map(AttributeValue.string)
        return attributes
    }

    /// The queries for each possible class.
    var queries: [Query] { classes.map { query(of: $0) } }

    private func query(of itemClass: ClassOption) -> Query {
        Query(itemClass.itemClass, attributes: attributes(of: itemClass))
    }

    /// The key of a new item.
    var key: ItemKey {
        let itemClass = itemClass ?? .generic
        return ItemKey(
            itemClass.itemClass,
            attributes(of: itemClass).merging([.account: .string(account ?? "")]) { first, _ in first })
    }

    /// The query for the item that a new one would replace.
    var replaced: Query { Query(key).with(\.attributes[.accessGroup], groups.first.map(AttributeValue.string)) }

    /// The query for items with the same key, whether synchronizable or not.
    var twin: Query { replaced.withoutQuestions }

    /// Returns the only matching item, of the first class that has any.
    ///
    /// - Throws: code 12, with the accounts or the groups, if several match.
    func only(in store: any ItemStore, secrets: Bool = false) throws -> Item {
        try groups.items(
            matching: queries.map { $0.with(\.returnsSecrets, secrets) }, takesEveryClass: false,
            missing: .noSuchItem(hint: NearMiss.hint(service, account, classes.map(\.itemClass), in: store))
        ) { query throws(VaultError) in try store.allMatching(query) }.only()
    }
}

/// The options that describe an item, beyond its key.
struct ItemDescription: ParsableArguments {
    @Option(help: "A label for people.")
    var label: String?

    @Option(help: "A comment.")
    var comment: String?

    @Option(help: "The kind of the item.")
    var description: String?

    @Option(
        name: .customLong("attr"),
        help: ArgumentHelp("A user-defined attribute; may be repeated.", valueName: "name=value"))
    var userAttributes: [UserAttribute] = []

    @Option(
        help: ArgumentHelp(
            "when-unlocked or after-first-unlock; with ',this-device', bound to this machine.", valueName: "when"))
    var accessible: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether the item is marked as synchronizable, which applications see; syncs take every item.")
    var synchronizable: Bool?

    @Flag(
        inversion: .prefixedNo,
        help: "Whether each read of the item asks a person for the vault's passphrase.")
    var presence: Bool?

    func validate() throws {
        let stays = try accessibility()?.isThisDeviceOnly == true
        guard synchronizable != true || !stays else {
            throw ValidationError("--synchronizable is for other devices, and ',this-device' for none of them")
        }
        guard user.count == userAttributes.count else { throw ValidationError("an attribute is given twice") }
    }

    func accessibility() throws -> Accessibility? {
        switch accessible {
        case nil: nil
        case "when-unlocked": .whenUnlocked
        case "after-first-unlock": .afterFirstUnlock
        case "when-unlocked,this-device": .whenUnlockedThisDeviceOnly
        case "after-first-unlock,this-device": .afterFirstUnlockThisDeviceOnly
        default:
            throw ValidationError(
                "--accessible takes when-unlocked or after-first-unlock, each with ',this-device' or without")
        }
    }

    var namesProtection: Bool { accessible != nil || presence != nil }

    /// - Parameter existing: the item to change, which keeps the half of its protection that is not named.
    func attributes(changing existing: Item? = nil) throws -> [Attribute: AttributeValue] {
        var attributes: [Attribute: AttributeValue] = [:]
        attributes[.label] = label.map(AttributeValue.string)
        attributes[.comment] = comment.map(AttributeValue.string)
        attributes[.itemDescription] = description.map(AttributeValue.string)
        if namesProtection {
            let accessible = try accessibility() ?? existing?.accessibility ?? .whenUnlocked
            if presence ?? existing?.asksForPresence ?? false {
                attributes[.accessControl] = .data(AccessControl(requiringPresence: accessible).encoded)
            } else {
                attributes[.accessible] = .string(accessible.rawValue)
            }
        }
        attributes[.synchronizable] = synchronizable.map(AttributeValue.bool)
        return attributes
    }

    /// Asks before an item that other devices have is bound to this one. Their copies are deleted, for which nobody
    /// asks there.
    ///
    /// - Parameters:
    ///   - item: the item before the change.
    ///   - isConfirmed: whether `--yes` has answered.
    func checkBinding(_ item: Item?, in vault: LockedVault, isConfirmed: Bool) throws {
        guard vault.isReplicated, let item, item.accessibility?.isThisDeviceOnly == false,
            try accessibility()?.isThisDeviceOnly == true, !isConfirmed
        else { return }
        try Confirmation.ask(
            "Bind \(item.phrase(namingGroup: false)) to this device, and delete it on all other devices of the fleet?")
    }

    var user: [String: String] { Dictionary(userAttributes.map { ($0.name, $0.value) }) { $1 } }
}
