// SPDX-License-Identifier: Apache-2.0
internal import VaultBus
internal import VaultCrypto
internal import VaultFormat

/// The process that owns the name `org.freedesktop.secrets`: gnome-keyring, KWallet, KeePassXC or another (Secret
/// Service API, 0.2). Addressed by its unique name, so that no other process can answer in its place later.
struct SecretServiceProvider {
    static let root = "/org/freedesktop/secrets"
    /// The limit of collections; a larger number is a provider's mistake.
    static let collectionLimit = 1024

    enum Unlocking { case completed, dismissed, unanswered }

    struct TransferredSecret {
        var session = ""
        /// The parameters of the cipher; `nil` if longer than an initialization vector.
        var parameters: [UInt8]?
        /// The value; `nil` if longer than an item allows.
        var value: Secret?
        var contentType = ""
    }

    private static let busName = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"

    private let connection: BusConnection
    private let owner: String
    let process: UInt32

    /// Finds the provider, or has the bus start it; throws `.refused` if there is none.
    init(_ connection: BusConnection) throws(BusError) {
        self.connection = connection
        func ask(_ method: String, _ arguments: [BusValue]) throws(BusError) -> BusMessage {
            let member = BusMember(interface: Self.busName, name: method)
            return try connection.call(member, at: Self.busPath, of: Self.busName) { message throws(BusError) in
                for argument in arguments { try message.append(argument) }
            }
        }
        let name = BusValue.text("org.freedesktop.secrets")
        do throws(BusError) { owner = try ask("GetNameOwner", [name]).text() } catch {
            guard case .refused = error else { throw error }
            _ = try ask("StartServiceByName", [name, .number(0)])
            owner = try ask("GetNameOwner", [name]).text()
        }
        process = try ask("GetConnectionUnixProcessID", [.text(owner)]).number()
        try connection.match(
            "type='signal',sender='\(owner)',interface='\(Self.completed.interface)',member='\(Self.completed.name)'")
        try connection.match(
            """
            type='signal',sender='\(Self.busName)',interface='\(Self.busName)',member='\(Self.ownerChanged.name)',\
            arg0='\(owner)'
            """)
    }

    static func hasObject(_ path: String) -> Bool { path.hasPrefix(root + "/") }

    private static let completed = BusMember(interface: "org.freedesktop.Secret.Prompt", name: "Completed")
    private static let ownerChanged = BusMember(interface: busName, name: "NameOwnerChanged")

    private func call(
        _ interface: String, _ method: String, at path: String = root, isSecret: Bool = false,
        _ arguments: [BusValue] = [], _ write: (BusMessage) throws(BusError) -> Void = { _ throws(BusError) in }
    ) throws(BusError) -> BusMessage {
        let member = BusMember(interface: "org.freedesktop." + interface, name: method)
        return try connection.call(member, at: path, of: owner, isSecret: isSecret) { message throws(BusError) in
            for argument in arguments { try message.append(argument) }
            try write(message)
        }
    }

    /// - Parameters:
    ///   - kind: `Service`, `Collection` or `Item`.
    ///   - read: receives the name of a property and its value, a variant; returns `false` to skip it.
    func readProperties(
        of path: String, _ kind: String, _ read: (String, BusMessage) throws(BusError) -> Bool
    ) throws(BusError) {
        let answer = try call("DBus.Properties", "GetAll", at: path, [.text("org.freedesktop.Secret." + kind)])
        try answer.dictionary(of: "sv") { () throws(BusError) in
            let name = try answer.text()
            guard try !read(name, answer) else { return }
            try answer.skip("v")
        }
    }

    func collection(alias: String) throws(BusError) -> String? {
        let path = try call("Secret.Service", "ReadAlias", [.text(alias)]).path()
        return path == "/" ? nil : path
    }

    /// Unlocks objects, with the provider's own prompt if needed, which is dismissed after a time.
    func unlock(_ paths: [String], patience: Duration) throws(BusError) -> Unlocking {
        let answer = try call("Secret.Service", "Unlock", [.paths(paths)])
        try answer.skip("ao")
        let prompt = try answer.path()
        guard prompt != "/" else { return .completed }
        guard Self.hasObject(prompt) else { throw .malformed }
        let deadline = ContinuousClock.now + patience
        _ = try call("Secret.Prompt", "Prompt", at: prompt, [.text("")])
        let signal = try connection.signal(until: deadline) { signal throws(BusError) in
            if signal.isSignal(Self.ownerChanged, from: Self.busName, at: Self.busPath), try signal.text() == owner {
                throw BusError.lost
            }
            return signal.isSignal(Self.completed, from: owner, at: prompt)
        }
        guard let signal else {
            do throws(BusError) { _ = try call("Secret.Prompt", "Dismiss", at: prompt) } catch {
                guard case .refused = error else { throw error }
                // The prompt has ended by itself meanwhile.
            }
            return .unanswered
        }
        return try signal.flag() ? .dismissed : .completed
    }

    /// - Returns: the path of the session, and the provider's public key; `nil` if longer than a public key.
    func openSession(_ algorithm: String, publicKey: [UInt8]?) throws(BusError) -> (path: String, publicKey: [UInt8]?) {
        let answer = try call("Secret.Service", "OpenSession") { message throws(BusError) in
            try message.append(algorithm)
            if let publicKey {
                try message.append(variantOf: publicKey.span)
            } else {
                try message.append(variantOf: "")
            }
        }
        var peer: [UInt8]?
        if publicKey != nil {
            try answer.variant(of: "ay") { () throws(BusError) in
                peer = try answer.bytes(limit: OakleyGroup2.length)
            }
        } else {
            try answer.skip("v")
        }
        let path = try answer.path()
        guard Self.hasObject(path) else { throw .malformed }
        return (path, peer)
    }

    func closeSession(_ path: String) throws(BusError) { _ = try call("Secret.Session", "Close", at: path) }

    /// Returns the secrets of those items for which the provider returns one.
    func secrets(of paths: [String], session: String) throws(BusError) -> [String: TransferredSecret] {
        let answer = try call("Secret.Service", "GetSecrets", isSecret: true, [.paths(paths), .path(session)])
        var secrets: [String: TransferredSecret] = [:]
        try answer.dictionary(of: "o(oayays)") { () throws(BusError) in
            let path = try answer.path()
            secrets[path] = try secret(answer)
        }
        return secrets
    }

    func secret(of path: String, session: String) throws(BusError) -> TransferredSecret {
        try secret(call("Secret.Item", "GetSecret", at: path, isSecret: true, [.path(session)]))
    }

    private func secret(_ answer: BusMessage) throws(BusError) -> TransferredSecret {
        var secret = TransferredSecret()
        try answer.structure(of: "oayays") { () throws(BusError) in
            secret.session = try answer.path()
            secret.parameters = try answer.bytes(limit: 16)
            // With an additional block, for the padding.
            secret.value = try answer.secret(limit: Layout.valueLimit + 16)
            secret.contentType = try answer.text()
        }
        return secret
    }
}
