// SPDX-License-Identifier: Apache-2.0
internal import VaultBus
internal import VaultCrypto
internal import VaultFormat

/// What a running provider of `org.freedesktop.secrets` has: gnome-keyring, KWallet, KeePassXC or another. It is read
/// over the bus of the user's session, and stays as it is.
package struct SecretServiceSource {
    /// All of them are listed before the first secret is asked for.
    private static let itemLimit = 250_000
    private static let batch = 100

    /// The process that is the provider, for the caller to look at: it may be the vault itself.
    package let owner: Int32

    private let provider: SecretServiceProvider
    private let promptPatience: Duration
    /// Those that may be used.
    var algorithms = SecretServiceSession.Algorithm.allCases

    /// Connects to the bus and finds the provider, which the bus starts if it knows how.
    ///
    /// - Parameters:
    ///   - address: of the bus; nil: the session's.
    ///   - patience: how long an answer may take.
    ///   - promptPatience: how long a prompt of the provider's waits for its user.
    /// - Throws: `.missing` without libsystemd; `.service` without a bus or a provider.
    package init(
        address: String? = nil, patience: Duration = .seconds(25), promptPatience: Duration = .seconds(120)
    ) throws(ImportError) {
        self.promptPatience = promptPatience
        let connection = try asking { () throws(BusError) in try BusConnection(address, patience: patience) }
        do throws(BusError) { provider = try SecretServiceProvider(connection) } catch {
            guard case .refused = error else { throw ImportError(error) }
            throw .service(
                "no program provides org.freedesktop.secrets",
                hint: "start the program that has the secrets, such as gnome-keyring-daemon or KeePassXC")
        }
        owner = Int32(truncatingIfNeeded: provider.process)
    }

    /// All items of all collections but those of the session. What is locked is unlocked by the provider's own prompt;
    /// what stays locked is skipped.
    ///
    /// - Parameter progress: takes how much is done, from 0 to 1.
    /// - Throws: `.service` when the provider or the bus goes away or does not answer, `.malformed`, `.tooLarge` for
    ///   more than 250,000 items.
    package func logins(_ progress: (Double) -> Void = { _ in }) throws(ImportError) -> ImportedLogins {
        let session = try asking { () throws(BusError) in try SecretServiceSession(provider, algorithms) }
        var reading = SecretServiceReading(provider: provider, session: session, promptPatience: promptPatience)
        let collections = try reading.collections(itemLimit: Self.itemLimit)
        let count = Double(collections.reduce(0) { $0 + $1.items.count })
        var done = 0
        for collection in collections {
            var items = collection.items[...]
            while !items.isEmpty {
                let part = items.prefix(Self.batch)
                try reading.take(part, of: collection)
                items = items.dropFirst(part.count)
                done += part.count
                progress(Double(done) / count)
            }
        }
        // It ends with the connection anyway.
        _ = try attempting { () throws(BusError) in try provider.closeSession(session.path) }
        return reading.imported
    }
}
