// SPDX-License-Identifier: Apache-2.0
internal import VaultSync

/// The reason why a call failed.
enum EtcdError: Error, Equatable {
    /// There was no answer, or a failure that another member of the cluster may not have.
    case unreachable(String)
    /// A fault that a person has to fix.
    case refused(String, hint: String?)
    /// The role of the user lacks the right.
    case denied(String)
    /// The token has expired, or the rights have changed since it was issued.
    case tokenRejected(String)
    /// There is no open connection to the member.
    case notOpen
    /// The cluster has no authentication, so a token is unnecessary.
    case needsNoToken
    /// The requested revision was compacted.
    case compacted
    /// The answer is longer than permitted.
    case answerTooLong
    /// The answer does not have etcd's form.
    case malformed(String)

    /// - Parameter host: the shown name of the host.
    func error(at host: String) -> RecordStoreError {
        switch self {
        case .unreachable(let what): .unreachable(what)
        case .refused(let what, let hint): .refused(what, hint: hint)
        case .denied(let what): .denied(what)
        case .tokenRejected(let what): .refused(what, hint: nil)
        case .notOpen: .unreachable("\(host): the connection has ended")
        case .needsNoToken: .refused("\(host) wants no password", hint: nil)
        case .compacted: .refused("\(host) compacts its history faster than it is read", hint: "try again")
        case .answerTooLong: .refused("\(host) answers with more than was asked for", hint: Self.isItEtcd)
        case .malformed(let what): .refused("\(host) does not answer as etcd does: \(what)", hint: Self.isItEtcd)
        }
    }

    private static let isItEtcd = "is it etcd, 3.4 or later? its URL is etcd://host:2379"

    /// Errors that another member may not have.
    private static let ofMember = [
        "no leader", "leader changed", "request timed out", "server stopped", "transport is closing",
        "not supported for learner", "stream error", "unhealthy cluster",
    ]

    /// Classifies an error of the gateway.
    ///
    /// - Parameters:
    ///   - status: the HTTP status; `nil` for an error within a stream.
    ///   - words: the server's text.
    init(status: Int?, _ words: String, at host: String) {
        let said = RecordStoreError.shown(words)
        func has(_ part: String) -> Bool { words.contains(part) }
        if has("invalid auth token") || has("revision of auth store is old") {
            self = .tokenRejected("\(host) does not take its own token: \(said)")
        } else if has("authentication is not enabled") {
            self = .needsNoToken
        } else if has("invalid user ID or password") {
            self = .refused(
                "\(host) refuses the user or the password",
                hint: "a new password: 'vault remote add URL --password-file FILE'")
        } else if has("user name is empty") || has("user name not found") {
            self = .refused(
                "\(host) asks for a user and a password",
                hint: "etcd://USER@host and --password-file FILE; a certificate alone is no user to etcd's gateway")
        } else if has("permission denied") {
            self = .denied("\(host) says '\(said)'; the user's role needs readwrite on the prefix \(EtcdKeys.version)")
        } else if has("database space exceeded") {
            self = .refused(
                "\(host) is full: \(said)",
                hint: "compact and defragment it, then 'etcdctl alarm disarm'; or raise --quota-backend-bytes")
        } else if has("request is too large") || has("larger than max") {
            self = .refused("\(host) takes no such long request: \(said)", hint: "raise its --max-request-bytes")
        } else if has("required revision has been compacted") {
            self = .compacted
        } else if Self.ofMember.contains(where: has) || status == 503 {
            self = .unreachable("\(host) cannot do anything at the moment: \(said.isEmpty ? "no leader" : said)")
        } else if let status, 300..<400 ~= status {
            self = .refused("\(host) sends elsewhere (HTTP \(status)), which is not followed", hint: Self.isItEtcd)
        } else if status == 404 {
            self = .refused("\(host) has no /v3/", hint: Self.isItEtcd)
        } else {
            let number = status.map { " with HTTP \($0)" } ?? ""
            self = .refused(
                "\(host) answers\(number)\(said.isEmpty ? "" : ": " + said)",
                hint: status == 400 && said.isEmpty ? "does it speak TLS? then --ca-file FILE" : nil)
        }
    }
}
