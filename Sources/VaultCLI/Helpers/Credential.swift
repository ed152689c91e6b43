// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultImport

struct Credential: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credential",
        abstract: "Print a credential in the format of a cloud's own tools.",
        subcommands: [CredentialAWS.self, CredentialKubernetes.self])
}

struct CredentialAWS: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "aws",
        abstract: "Print the keys of an AWS profile.",
        discussion: """
            For ~/.aws/config: credential_process = vault credential aws PROFILE. The item has the service aws and the \
            account PROFILE; its secret is the secret key, with the attribute aws_access_key_id and, if any, the field \
            aws_session_token and the attribute aws_expiration, such as 2030-01-31T12:00:00Z. 'vault import plaintext' \
            makes the item from ~/.aws/credentials.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "The profile.")
    var profile: String

    func run() throws {
        let text = try CloudItem.withItem(vault, "aws", profile) { item in
            guard let key = item.userAttributes["aws_access_key_id"], let secret = try item.openedSecret() else {
                throw CommandError(
                    .notFound, "the item has no access key",
                    hint: "vault update aws PROFILE --attr aws_access_key_id=ID")
            }
            let expiry = item.userAttributes["aws_expiration"]
            try CloudItem.check(expiry)
            let token = try item.openedSecret(field: "aws_session_token")
            return try JSONWriter.line { json in
                try json.member("Version", raw: "1")
                try json.member("AccessKeyId", key)
                try json.member("SecretAccessKey", secret)
                if let token { try json.member("SessionToken", token) }
                if let expiry { try json.member("Expiration", expiry) }
            }
        }
        try HelperAccess.write(text)
    }
}

struct CredentialKubernetes: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kubernetes",
        abstract: "Print a token for kubectl.",
        discussion: """
            For the users of a kubeconfig: exec, with command vault, args [credential, kubernetes, NAME] and \
            apiVersion client.authentication.k8s.io/v1. The item has the service kubernetes and the account NAME; its \
            secret is the token, with the attribute expiration if the token expires, such as 2030-01-31T12:00:00Z. The \
            fields client-certificate and client-key contain a certificate and its key, both PEM.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "The account of the item.")
    var name: String

    private static let version = "client.authentication.k8s.io/v1"
    private static let versions = [version, version + "beta1"]

    func run() throws {
        let version = try CredentialKubernetes.wantedVersion()
        let text = try CloudItem.withItem(vault, "kubernetes", name) { item in
            let expiry = item.userAttributes["expiration"]
            try CloudItem.check(expiry)
            let (certificate, key) = (
                try item.openedSecret(field: "client-certificate"), try item.openedSecret(field: "client-key")
            )
            guard (certificate == nil) == (key == nil) else {
                throw CommandError(.notFound, "the item has a certificate without its key, or a key alone")
            }
            let token = try item.openedSecret()
            guard token != nil || key != nil else { throw CommandError(.notFound, "the item has no token") }
            return try JSONWriter.line { json in
                try json.member("apiVersion", version)
                try json.member("kind", "ExecCredential")
                try json.object(named: "status") { json in
                    if let token { try json.member("token", token) }
                    if let certificate { try json.member("clientCertificateData", certificate) }
                    if let key { try json.member("clientKeyData", key) }
                    if let expiry { try json.member("expirationTimestamp", expiry) }
                }
            }
        }
        try HelperAccess.write(text)
    }

    /// Returns the version that kubectl requests in its variable.
    private static func wantedVersion() throws -> String {
        guard let text = ProcessEnvironment.variable("KUBERNETES_EXEC_INFO") else { return version }
        let info = try? JSONValue(try Document(Secret(copying: text)))
        guard let wanted = info?["apiVersion"]?.text, versions.contains(wanted) else {
            throw CommandError(
                .unsupported, "$KUBERNETES_EXEC_INFO asks for another version of the answer", hint: "\(version)")
        }
        return wanted
    }
}

/// The item of a cloud credential.
private enum CloudItem {
    static func withItem(
        _ options: VaultOptions, _ service: String, _ account: String, _ body: (Item) throws -> Secret
    ) throws -> Secret {
        try HelperAccess.withVault(options, for: "vault credential", onlyReads: true) { vault in
            try body(try vault.copyMatching(Query(.genericPassword, service: service, account: account)).only())
        }
    }

    /// Checks the expiry: an expired credential would only be refused by the server.
    static func check(_ expiry: String?) throws {
        guard let expiry else { return }
        guard let end = try? Date(expiry, strategy: .iso8601) else {
            throw CommandError(.failure, "the end of the credential is no time such as 2030-01-31T12:00:00Z")
        }
        guard end > Date() else { throw CommandError(.notFound, "the credential has ended", hint: "store a new one") }
    }
}
