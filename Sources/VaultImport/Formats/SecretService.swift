// SPDX-License-Identifier: Apache-2.0
internal import VaultBus
internal import VaultCrypto
internal import VaultFormat

/// The items of a running provider of `org.freedesktop.secrets`: gnome-keyring, KWallet, KeePassXC or another. They are
/// read over the session bus, and not changed.
package struct SecretServiceSource {
    /// The maximum number of items: all are listed before the first secret is requested.
    private static let itemLimit = 250_000
    private static let batch = 100

    /// The process of the provider, for the caller to check: it may be the vault itself.
    package let owner: Int32

    private let provider: SecretServiceProvider
    private let promptPatience: Duration
    var algorithms = SecretServiceSession.Algorithm.allCases

    /// Connects to a bus; throws `.missing` without libsystemd, and `.service` without a bus or a provider.
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

    /// Reads all items of all collections except the session collection. Locked items are unlocked through the
    /// provider's own prompt; items that stay locked are skipped.
    ///
    /// - Throws: `.service`, `.malformed`, or `.tooLarge` for more than 250,000 items.
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
        // The session ends with the connection anyway.
        _ = try attempting { () throws(BusError) in try provider.closeSession(session.path) }
        return reading.imported
    }
}
