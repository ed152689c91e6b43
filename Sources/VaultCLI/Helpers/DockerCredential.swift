// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultImport

struct DockerCredential: HelperCommand, PlainCommand {
    static let link = "docker-credential-vault"
    static let configuration = CommandConfiguration(
        commandName: "docker-credential",
        abstract: "Store docker's credentials in the vault.",
        discussion: """
            A credential helper for docker, podman, buildah and skopeo: "credsStore": "vault" in \
            ~/.docker/config.json, if this command is also installed as docker-credential-vault. The items are those \
            of docker's own helper for the Secret Service, so that both helpers see the same items.
            """)

    @OptionGroup var vault: VaultOptions

    @Argument(help: "get, store, erase or list, passed by docker; the rest comes from standard input.")
    var action: String?

    init() {}

    init?(_ plain: inout PlainArguments) {
        guard let vault = VaultOptions(&plain) else { return nil }
        (self.vault, action) = (vault, plain.word())
    }

    /// An answer with a text defined by docker, on standard output.
    private struct Answer: Error {
        let words: String

        static let notFound = Answer(words: "credentials not found in native keychain")
        static let noServer = Answer(words: "no credentials server URL")
        static let noUser = Answer(words: "no credentials username")
    }

    private static let attributes = ["xdg:schema": "io.docker.Credentials", "label": "Docker Credentials"]
    private static let limit = 1 << 20

    private static let usage = "Usage: \(link) <store|get|erase|list|version>"

    func run() throws {
        guard let action else {
            // Docker's own helpers print the same text.
            try Output.line(DockerCredential.usage)
            throw CommandError(.failure, "docker names an action")
        }
        do { try perform(action) } catch {
            let words =
                (error as? Answer)?.words
                ?? CommandLineTool.failure(error).map { $0.message + ($0.hint.map { " (\($0))" } ?? "") }
            guard let words else { throw error }
            try Output.line(words)
            throw CommandError(.failure, words)
        }
    }

    private func perform(_ action: String) throws {
        switch action {
        case "version": try Output.line("\(DockerCredential.link) (vault) v\(VaultCommand.configuration.version)")
        case "list": try list()
        case "get": try get()
        case "store": try store()
        case "erase":
            let server = try DockerCredential.server()
            try access { vault in
                for query in DockerCredential.queries(server) { _ = try vault.deleteAll(query) }
            }
        default: throw Answer(words: "Unknown credential action `\(action.printable)`")
        }
    }

    private func access<R>(_ body: (any OpenVault) throws -> R) throws -> R {
        try HelperAccess.withVault(vault, for: "docker", onlyReads: true, body)
    }

    private func get() throws {
        let server = try DockerCredential.server()
        let text = try access { vault in
            let found: (user: String, secret: Secret)? = try vault.undisturbed {
                for query in DockerCredential.queries(server) {
                    guard let item = try vault.allMatching(query).lastChangedFirst.first,
                        let secret = try item.openedSecret()
                    else { continue }
                    return (item.dockerUser, secret)
                }
                return nil
            }
            guard let found else { throw Answer.notFound }
            return try JSONWriter.line { json in
                try json.member("ServerURL", server)
                try json.member("Username", found.user)
                try json.member("Secret", found.secret)
            }
        }
        try HelperAccess.write(text)
    }

    private func store() throws {
        let text = try DockerCredential.input()
        guard let value = try? JSONValue(try Document(text)), value.isObject else {
            throw Answer(words: "the credentials are no JSON object")
        }
        guard let server = value["ServerURL"]?.text, !server.isEmpty else { throw Answer.noServer }
        guard let user = value["Username"]?.text, !user.isEmpty else { throw Answer.noUser }
        guard JSONValue.isPlain(server), JSONValue.isPlain(user) else {
            throw Answer(words: "the server URL or the username has a control character")
        }
        let secret = try value["Secret"]?.secret() ?? Secret(try SecretBytes(zeroed: 0))
        try access { vault in
            // A login as another user replaces the previous one for a server.
            let known = try DockerCredential.queries(server).flatMap { try vault.allMatching($0) }
            let key = ItemKey.genericPassword(service: server, account: user)
            guard try vault.allMatching(Query(key)).allSatisfy({ $0.userAttributes["docker_cli"] != nil }) else {
                throw Answer(words: "an item that is not docker's has this service and account: see 'vault find'")
            }
            let others = known.filter { $0.account != user || $0.service != server }.compactMap(\.record)
            let attributes = DockerCredential.attributes.merging([
                "server": server, "username": user, "docker_cli": "1",
            ]) { $1 }
            try vault.store(
                [
                    Item(
                        key, attributes: [.label: .string(server)], userAttributes: attributes, secret: secret)
                ], replacing: true, deleting: others.map { Query(persistentReference: $0.persistentReference) })
        }
    }

    private func list() throws {
        let text = try access { vault in
            let items = try vault.allMatching(Query(.genericPassword, userAttributes: ["docker_cli": "1"]))
            return try JSONWriter.line { json in
                var servers: Set<[UInt8]> = []
                for item in items.lastChangedFirst {
                    let server = item.userAttributes["server"] ?? item.service ?? ""
                    // Several of a server are one to docker, which gets the last changed.
                    if servers.insert(Array(server.utf8)).inserted { try json.member(server, item.dockerUser) }
                }
            }
        }
        try HelperAccess.write(text)
    }

    /// The queries for items made by docker's helper for the Secret Service, or by this one.
    private static func queries(_ server: String) -> [Query] {
        [server, server.hasSuffix("/") ? String(server.dropLast()) : server + "/"].map { server in
            Query(.genericPassword, userAttributes: ["docker_cli": "1", "server": server])
        }
    }

    private static func input() throws -> Secret {
        Secret(
            try SecretReader.read(
                STDIN_FILENO, limit: limit, tooLong: Answer(words: "the credentials have more than 1 MiB")))
    }

    /// Reads the server from docker's input, without a trailing newline.
    private static func server() throws -> String {
        let text = try input().withBytes { bytes in String(validating: bytes.array(0..<bytes.count), as: UTF8.self) }
        guard let text else { throw Answer(words: "the server URL is not UTF-8") }
        var server = Substring(text)
        if server.utf8.last == 0x0a { server = Substring(server.unicodeScalars.dropLast()) }
        if server.utf8.last == 0x0d { server = Substring(server.unicodeScalars.dropLast()) }
        guard !server.isEmpty else { throw Answer.noServer }
        guard JSONValue.isPlain(String(server)) else { throw Answer(words: "the server URL has a control character") }
        return String(server)
    }
}

extension Item {
    fileprivate var dockerUser: String { userAttributes["username"] ?? account ?? "" }
}
