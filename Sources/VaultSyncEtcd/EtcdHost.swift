// SPDX-License-Identifier: Apache-2.0
internal import VaultSync

/// One member of a cluster.
struct EtcdHost {
    /// As it is shown.
    let name: String
    /// Of the gateway, with a slash behind it.
    let url: String
    /// Whether HTTP is spoken without TLS.
    let isPlain: Bool

    /// In the order in which they are asked.
    static func all(of remote: RemoteAccess) -> [EtcdHost] {
        let asksForTLS = remote.credentials.authorities != nil || remote.credentials.certificate != nil
        return remote.url.hosts.flatMap { host in
            guard host.isLoopback, !asksForTLS else { return [EtcdHost(host, isPlain: false)] }
            // No look-up says where this host is: what goes there is not encrypted.
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
