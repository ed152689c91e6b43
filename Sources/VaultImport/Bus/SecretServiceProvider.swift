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

    /// The outcome of an unlock request.
    enum Unlocking { case completed, dismissed, unanswered }

    /// A secret in the form in which it is transferred over the bus.
    struct TransferredSecret {
        let session: String
        /// The parameters of the cipher; `nil` if longer than an initialization vector.
        let parameters: [UInt8]?
        /// The value; `nil` if longer than an item allows.
        let value: Secret?
        let contentType: String
    }

    private static let busName = "org.freedesktop.DBus"
    private static let busPath = "/org/freedesktop/DBus"

    private let connection: BusConnection
    /// The unique name of its connection, such as `:1.7`.
    private let owner: String
    let process: UInt32

    /// Finds the provider; the bus starts it if it can.
    ///
    /// - Throws: `.refused` if there is none.
    init(_ connection: BusConnection) throws(BusError) {
        self.connection = connection
        func ask(_ method: String, _ write: (BusMessage) throws(BusError) -> Void) throws(BusError) -> BusMessage {
            let member = BusMember(interface: Self.busName, name: method)
            return try connection.call(member, at: Self.busPath, of: Self.busName, write)
        }
        func findOwner() throws(BusError) -> String {
            try ask("GetNameOwner") { message throws(BusError) in try message.append("org.freedesktop.secrets") }.text()
        }
        do throws(BusError) { owner = try findOwner() } catch {
            guard case .refused = error else { throw error }
            _ = try ask("StartServiceByName") { message throws(BusError) in
                try message.append("org.freedesktop.secrets")
                try message.append(UInt32(0))
            }
            owner = try findOwner()
        }
        let owner = owner
        process = try ask("GetConnectionUnixProcessID") { message throws(BusError) in try message.append(owner) }
            .number()
        try connection.match(
            "type='signal',sender='\(owner)',interface='\(Self.completed.interface)',member='\(Self.completed.name)'")
        try connection.match(
            """
            type='signal',sender='\(Self.busName)',interface='\(Self.busName)',member='\(Self.ownerChanged.name)',\
            arg0='\(owner)'
            """)
    }

    /// Returns whether a path can be that of an object of the service.
    static func hasObject(_ path: String) -> Bool { path.hasPrefix(root + "/") }

    private static let completed = BusMember(interface: "org.freedesktop.Secret.Prompt", name: "Completed")
    private static let ownerChanged = BusMember(interface: busName, name: "NameOwnerChanged")

    private func call(
        _ interface: String, _ method: String, at path: String = root, isSecret: Bool = false,
        _ write: (BusMessage) throws(BusError) -> Void = { _ throws(BusError) in }
    ) throws(BusError) -> BusMessage {
        let member = BusMember(interface: "org.freedesktop." + interface, name: method)
        return try connection.call(member, at: path, of: owner, isSecret: isSecret, write)
    }

    // MARK: Objects

    /// Reads the properties of an object.
    ///
    /// - Parameters:
    ///   - kind: `Service`, `Collection` or `Item`.
    ///   - read: receives the name of a property and its value, a variant; returns `false` to skip it.
    func readProperties(
        of path: String, _ kind: String, _ read: (String, BusMessage) throws(BusError) -> Bool
    ) throws(BusError) {
        let answer = try call("DBus.Properties", "GetAll", at: path) { message throws(BusError) in
            try message.append("org.freedesktop.Secret." + kind)
        }
        try answer.dictionary(of: "sv") { () throws(BusError) in
            let name = try answer.text()
            guard try !read(name, answer) else { return }
            try answer.skip("v")
        }
    }

    /// Returns the collection of an alias; `nil` if there is none.
    func collection(alias: String) throws(BusError) -> String? {
        let path = try call("Secret.Service", "ReadAlias") { message throws(BusError) in try message.append(alias) }
            .path()
        return path == "/" ? nil : path
    }

    // MARK: Unlocking

    /// Unlocks objects, with the provider's own prompt if needed.
    ///
    /// - Parameter patience: the timeout of the prompt, which is dismissed afterwards.
    func unlock(_ paths: some Sequence<String>, patience: Duration) throws(BusError) -> Unlocking {
        let answer = try call("Secret.Service", "Unlock") { message throws(BusError) in
            try message.append(paths: paths)
        }
        try answer.skip("ao")
        let prompt = try answer.path()
        guard prompt != "/" else { return .completed }
        guard Self.hasObject(prompt) else { throw .malformed }
        let deadline = ContinuousClock.now + patience
        _ = try call("Secret.Prompt", "Prompt", at: prompt) { message throws(BusError) in try message.append("") }
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

    // MARK: Secrets

    /// Opens a session.
    ///
    /// - Parameter publicKey: the client's public key, if the algorithm uses one.
    /// - Returns: the path of the session, and the provider's public key; `nil` if longer than a public key.
    func openSession(
        _ algorithm: String, publicKey: [UInt8]?
    ) throws(BusError) -> (path: String, publicKey: [UInt8]?) {
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
    func secrets(of paths: some Sequence<String>, session: String) throws(BusError) -> [String: TransferredSecret] {
        let answer = try call("Secret.Service", "GetSecrets", isSecret: true) { message throws(BusError) in
            try message.append(paths: paths)
            try message.append(path: session)
        }
        var secrets: [String: TransferredSecret] = [:]
        try answer.dictionary(of: "o(oayays)") { () throws(BusError) in
            let path = try answer.path()
            secrets[path] = try secret(answer)
        }
        return secrets
    }

    func secret(of path: String, session: String) throws(BusError) -> TransferredSecret {
        let answer = try call("Secret.Item", "GetSecret", at: path, isSecret: true) { message throws(BusError) in
            try message.append(path: session)
        }
        return try secret(answer)
    }

    private func secret(_ answer: BusMessage) throws(BusError) -> TransferredSecret {
        var (session, contentType): (String, String) = ("", "")
        var parameters: [UInt8]?
        var value: Secret?
        try answer.structure(of: "oayays") { () throws(BusError) in
            session = try answer.path()
            parameters = try answer.bytes(limit: 16)
            // With an additional block, for the padding.
            value = try answer.secret(limit: Layout.valueLimit + 16)
            contentType = try answer.text()
        }
        return TransferredSecret(session: session, parameters: parameters, value: value, contentType: contentType)
    }
}
