// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import VaultCrypto

/// A remote, and what this device shows it.
package struct RemoteAccess: Sendable {
    package let url: RemoteURL
    package let credentials: RemoteCredentials

    package init(_ url: RemoteURL, _ credentials: RemoteCredentials = RemoteCredentials()) {
        (self.url, self.credentials) = (url, credentials)
    }
}

/// How a device proves itself to a server, and the server itself to the device. All of it stays on this device.
package struct RemoteCredentials: Sendable {
    /// Of the URL's user.
    package var password: Secret?
    /// A file of PEM certificates that the server's is checked by, in the place of the system's.
    package var authorities: FilePath?
    /// The device's own certificate, a file of PEM.
    package var certificate: FilePath?
    /// The private key of ``certificate``, a file of PEM.
    package var key: FilePath?

    package init(
        password: Secret? = nil, authorities: FilePath? = nil, certificate: FilePath? = nil, key: FilePath? = nil
    ) {
        (self.password, self.authorities) = (password, authorities)
        (self.certificate, self.key) = (certificate, key)
    }
}

extension RemoteCredentials {
    private static let files: [(name: String, file: any WritableKeyPath<RemoteCredentials, FilePath?> & Sendable)] = [
        ("authorities", \.authorities), ("certificate", \.certificate), ("key", \.key),
    ]

    var isEmpty: Bool { password == nil && attributes.isEmpty }

    /// These, and those of the others that are missing here.
    func or(_ others: RemoteCredentials) -> RemoteCredentials {
        RemoteCredentials(
            password: password ?? others.password, authorities: authorities ?? others.authorities,
            certificate: certificate ?? others.certificate, key: key ?? others.key)
    }

    /// What the record of a remote says of them.
    var attributes: [String: String] {
        var says: [String: String] = [:]
        for (name, file) in Self.files { says[name] = self[keyPath: file]?.string }
        return says
    }

    init(attributes says: [String: String], password: Secret?) {
        self.init(password: password)
        for (name, file) in Self.files { self[keyPath: file] = says[name].map { FilePath($0) } }
    }
}
