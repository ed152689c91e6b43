// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import VaultCrypto

/// A remote, with this device's credentials for it.
package struct RemoteAccess: Sendable {
    package let url: RemoteURL
    package let credentials: RemoteCredentials

    package init(_ url: RemoteURL, _ credentials: RemoteCredentials = RemoteCredentials()) {
        (self.url, self.credentials) = (url, credentials)
    }
}

/// The credentials by which a device and a server authenticate each other. All of them stay on this device.
package struct RemoteCredentials: Sendable {
    /// The password of the URL's user.
    package var password: Secret?
    /// A PEM file of the authorities that verify the server's certificate, instead of the system's.
    package var authorities: FilePath?
    /// The device's own certificate, a PEM file.
    package var certificate: FilePath?
    /// The private key of ``certificate``, a PEM file.
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

    /// The credentials except the password, as attributes of the remote's record.
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
