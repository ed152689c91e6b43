// SPDX-License-Identifier: Apache-2.0
internal import VaultSync

/// A member of a cluster.
struct EtcdHost {
    /// The shown name.
    let name: String
    /// The URL of the gateway, with a slash at its end.
    let url: String
    /// Whether the connection is HTTP without TLS.
    let isPlain: Bool

    /// The hosts of a remote in the order of their use.
    static func all(of remote: RemoteAccess) -> [EtcdHost] {
        let asksForTLS = remote.credentials.authorities != nil || remote.credentials.certificate != nil
        return remote.url.hosts.flatMap { host in
            guard host.isLoopback, !asksForTLS else { return [EtcdHost(host, isPlain: false)] }
            // The address is fixed, not looked up, since the traffic is not encrypted.
            let addresses = host.name == "localhost" ? ["127.0.0.1", "::1"] : [host.name]
            return addresses.map { EtcdHost(RemoteURL.Host($0, port: host.port), isPlain: true) }
        }
    }

    private init(_ host: RemoteURL.Host, isPlain: Bool) {
        let isAddress = host.name.contains(":")
        let port = host.port ?? RemoteURL.Scheme.etcd.usualPort ?? 0
        name = (isAddress ? "[\(host.name)]" : host.name) + ":\(port)"
        let shown = isAddress ? "[\(host.name.replacing("%", with: "%25"))]" : host.name
        self.isPlain = isPlain
        url = "\(isPlain ? "http" : "https")://\(shown):\(port)/v3/"
    }
}
