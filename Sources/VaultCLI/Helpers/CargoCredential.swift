// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import Glibc
internal import Vault
internal import VaultCrypto
internal import VaultImport

struct CargoCredential: HelperCommand, PlainCommand {
    static let link = "cargo-credential-vault"
    /// The argument that cargo passes to every provider.
    static let option = "--cargo-plugin"
    static let configuration = CommandConfiguration(
        commandName: "cargo-credential",
        abstract: "Store cargo's tokens in the vault.",
        discussion: """
            A credential provider for cargo 1.74 or newer: global-credential-providers = ["vault"] below [registry] in \
            ~/.cargo/config.toml. The token of a registry is the secret of the service cargo:INDEX-URL.
            """)

    @OptionGroup var vault: VaultOptions

    @Flag(help: "Speak cargo's protocol on standard input and output.")
    var cargoPlugin = false

    init() {}

    init?(_ plain: inout PlainArguments) {
        guard let vault = VaultOptions(&plain) else { return nil }
        (self.vault, cargoPlugin) = (vault, plain.flag(CargoCredential.option))
    }

    /// The maximum size of a request, in bytes.
    private static let limit = 1 << 20

    /// A refusal with a kind defined by cargo.
    private struct Refusal: Error {
        let kind: String
        var message: String?

        static func other(_ message: String) -> Refusal { Refusal(kind: "other", message: message) }
    }

    func run() throws {
        guard cargoPlugin else {
            throw CommandError.usage(
                "cargo starts this with \(CargoCredential.option)", hint: "see 'vault help cargo-credential'")
        }
        try Output.line(#"{"v":[1]}"#)
        var lines = SecretLines(STDIN_FILENO, limit: CargoCredential.limit)
        while let line = try lines.next() {
            let answer: Secret
            do { answer = try self.answer(to: line) } catch let refusal as Refusal {
                answer = try CargoCredential.text(of: refusal)
            } catch {
                guard let failure = CommandLineTool.failure(error) else { throw error }
                answer = try CargoCredential.text(of: .other(failure.message))
            }
            try HelperAccess.write(answer)
        }
    }

    private static func text(of refusal: Refusal) throws -> Secret {
        try JSONWriter.line { json in
            try json.object(named: "Err") { json in
                try json.member("kind", refusal.kind)
                guard let message = refusal.message else { return }
                try json.member("message", message)
                try json.member("caused-by", raw: "[]")
            }
        }
    }

    private func answer(to line: Secret) throws -> Secret {
        guard let request = try? JSONValue(try Document(line)), request.isObject else {
            throw Refusal.other("the request is no JSON object")
        }
        guard request["v"]?.integer == 1 else { throw Refusal.other("the request is of another version") }
        guard let index = request["registry"]?["index-url"]?.text, JSONValue.isPlain(index) else {
            throw Refusal(kind: "url-not-supported")
        }
        let key = ItemKey.genericPassword(service: "cargo:\(index)")
        let query = Query(key).with(\.attributes[.account], nil)
        switch request["kind"]?.text {
        case "get":
            let token = try access { vault -> Secret? in
                try vault.undisturbed { try vault.allMatching(query).lastChangedFirst.first?.openedSecret() }
            }
            guard let token else { throw Refusal(kind: "not-found") }
            return try CargoCredential.done("get", token: token)
        case "login":
            guard let token = try request["token"]?.secret() ?? typed(request) else {
                throw Refusal.other("there is no token, and no terminal to ask at")
            }
            let name = request["registry"]?["name"]?.text ?? index
            try access { vault in
                _ = try vault.set(Item(key, attributes: [.label: .string("cargo \(name)")], secret: token))
            }
            return try CargoCredential.done("login")
        case "logout":
            let count = try access { vault in try vault.deleteAll(query) }
            guard count > 0 else { throw Refusal(kind: "not-found") }
            return try CargoCredential.done("logout")
        default: throw Refusal(kind: "operation-not-supported")
        }
    }

    private func access<R>(_ body: (any OpenVault) throws -> R) throws -> R {
        try HelperAccess.withVault(vault, for: "cargo", onlyReads: true, body)
    }

    /// Lets the user type or paste a token.
    private func typed(_ request: JSONValue) throws -> Secret? {
        guard let terminal = Terminal() else { return nil }
        let name = request["registry"]?["name"]?.text ?? request["registry"]?["index-url"]?.text ?? ""
        if let page = request["login-url"]?.text { terminal.write("The token is made at \(page.printable)\n") }
        let token = try terminal.readSecret("Token for \(name.printable): ")
        return token.count > 0 ? Secret(token) : nil
    }

    private static func done(_ kind: String, token: Secret? = nil) throws -> Secret {
        try JSONWriter.line { json in
            try json.object(named: "Ok") { json in
                try json.member("kind", kind)
                guard let token else { return }
                try json.member("token", token)
                // Cached until this cargo process ends; the same for reading and for publishing.
                try json.member("cache", "session")
                try json.member("operation_independent", raw: "true")
            }
        }
    }
}

/// The lines of a stream, each in locked memory.
private struct SecretLines: ~Copyable {
    private let descriptor: Int32
    private let limit: Int

    init(_ descriptor: Int32, limit: Int) { (self.descriptor, self.limit) = (descriptor, limit) }

    /// Returns the next line without its newline; `nil` at the end. The last line may lack a newline.
    mutating func next() throws -> Secret? {
        var text = try SecretBuffer()
        var byte = try SecretBytes(zeroed: 1)
        while true {
            let count = byte.withMutableBytes { bytes in
                unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, 1) }
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return text.count > 0 ? Secret(try text.bytes()) : nil }
            let isEnd = byte.withBytes { $0[0] == 0x0a }
            if isEnd, text.count == 0 { continue }
            if isEnd { return Secret(try text.bytes()) }
            guard text.count < limit else { throw CommandError(.failure, "cargo says more than 1 MiB in a line") }
            try byte.withBytes { bytes throws(CryptoError) in try text.append(bytes) }
        }
    }
}
