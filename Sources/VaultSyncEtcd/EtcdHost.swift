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

    init(_ host: RemoteURL.Host, _ credentials: RemoteCredentials) {
        let isAddress = host.name.contains(":")
        let port = host.port ?? RemoteURL.Scheme.etcd.usualPort ?? 0
        name = (isAddress ? "[\(host.name)]" : host.name) + ":\(port)"
        // The scope of an address (RFC 6874).
        let shown = isAddress ? "[\(host.name.split(separator: "%").joined(separator: "%25"))]" : host.name
        let asksForTLS = credentials.authorities != nil || credentials.certificate != nil
        isPlain = host.isLoopback && !asksForTLS
        url = "\(isPlain ? "http" : "https")://\(shown):\(port)/v3/"
    }
}
