// SPDX-License-Identifier: Apache-2.0
internal import CPostgres
internal import Glibc
internal import SystemPackage
internal import VaultCrypto
internal import VaultSync

/// The parameters of a connection to one address of a host.
struct PostgresAddress {
    /// Keywords of libpq with values. A keyword without a value would be read from the user's files.
    let keywords: [(name: String, value: String)]
    let isEncrypted: Bool
    /// The directory of the server's socket; `nil` for an address of the network.
    let socketDirectory: String?

    /// Returns the addresses of a host in the order of the attempts.
    ///
    /// - Throws: `.lost` if the host is not found in time.
    static func all(
        of host: RemoteURL.Host, _ remote: RemoteAccess, within patience: Duration,
        by lookUp: @escaping HostLookUp.Method = HostLookUp.bySystem
    ) throws(PostgresError) -> [PostgresAddress] {
        if host.isSocket { return [PostgresAddress(remote, host, at: nil)] }
        let addresses: [String]
        if host.isLoopback {
            // The address is fixed, not looked up, since the traffic may be unencrypted.
            addresses = host.name == "localhost" ? ["127.0.0.1", "::1"] : [host.name]
        } else {
            addresses = try HostLookUp.addresses(of: host.name, within: patience, by: lookUp)
        }
        return addresses.map { PostgresAddress(remote, host, at: $0) }
    }

    /// - Parameter address: `nil` for a socket.
    private init(_ remote: RemoteAccess, _ host: RemoteURL.Host, at address: String?) {
        let credentials = remote.credentials
        let isPlain =
            host.isSocket || host.isLoopback && credentials.authorities == nil && credentials.certificate == nil
        isEncrypted = !isPlain
        socketDirectory = host.isSocket ? host.name : nil
        var keywords = [
            ("host", host.name), ("port", String(host.port ?? remote.url.scheme.usualPort ?? 0)),
            ("dbname", remote.url.path),
            ("application_name", "vault"), ("client_encoding", "UTF8"), ("gssencmode", "disable"),
            ("target_session_attrs", "read-write"), ("passfile", Self.noFile), ("sslcrl", Self.noFile),
            ("ssl_min_protocol_version", "TLSv1.2"), ("tcp_user_timeout", "30000"),
        ]
        if let address { keywords.append(("hostaddr", address)) }
        if let user = remote.url.user { keywords.append(("user", user)) }
        // A server on this machine may require encryption; no other machine sees the traffic.
        keywords.append(("sslmode", host.isSocket ? "disable" : isPlain ? "prefer" : "verify-full"))
        let authorities = isPlain ? Self.noFile : credentials.authorities?.string ?? Self.systemAuthorities()
        keywords.append(("sslrootcert", authorities))
        keywords.append(("sslcert", credentials.certificate?.string ?? Self.noFile))
        keywords.append(("sslkey", credentials.key?.string ?? Self.noFile))
        // OpenSSL would ask for a key's passphrase at the terminal; this passphrase is wrong for every key.
        if credentials.key != nil { keywords.append(("sslpassword", "none")) }
        self.keywords = keywords.map { (name: $0.0, value: $0.1) }
    }

    /// A path below a file, which cannot exist: libpq then looks at none of its default places.
    private static let noFile = "/dev/null/none"

    /// The file of the system's authorities: on Debian, Fedora, openSUSE or others.
    private static func systemAuthorities() -> String {
        let files = [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
            "/etc/ssl/cert.pem",
        ]
        return files.first { unsafe access($0, R_OK) == 0 } ?? files[0]
    }
}

extension PostgresConnection {
    /// Connects to the first address of a remote that admits the user and accepts writes.
    static func open(_ remote: RemoteAccess, _ patience: PostgresPatience) throws(PostgresError) -> PostgresConnection {
        let loaded = cpostgres_load()
        guard loaded == 0 else { throw .noLibrary(isTooOld: loaded != -ENOENT) }
        var failure: PostgresError?
        func note(_ error: PostgresError) {
            // A refusal is more informative than a missing server.
            switch (failure, error) {
            case (nil, _), (.lost, .refused): failure = error
            default: break
            }
        }
        for host in remote.url.hosts {
            let addresses: [PostgresAddress]
            do throws(PostgresError) {
                addresses = try PostgresAddress.all(of: host, remote, within: patience.connecting)
            } catch {
                note(error)
                continue
            }
            for address in addresses {
                do throws(PostgresError) {
                    let connection = try unsafe connect(to: address, remote.credentials.password, patience)
                    return try unsafe PostgresConnection(connection, patience)
                } catch { note(error) }
            }
        }
        throw failure ?? .lost("there is no such server")
    }

    private static func connect(
        to address: PostgresAddress, _ password: Secret?, _ patience: PostgresPatience
    ) throws(PostgresError) -> OpaquePointer {
        guard let connection = unsafe try start(address.keywords, password) else { throw .lost("out of memory") }
        do throws(PostgresError) {
            let owners = password == nil ? nil : address.socketDirectory.map { SocketOwners(ofDirectory: $0) }
            try unsafe finish(connection, owners, until: .now + patience.connecting)
            guard unsafe !address.isEncrypted || cpostgres_is_encrypted(connection) != 0 else {
                throw .lost("the connection is not encrypted")
            }
        } catch {
            unsafe cpostgres_close(connection)
            throw error
        }
        return unsafe connection
    }

    /// - Parameter password: lent to libpq, which keeps a copy as long as the connection, and wipes it.
    private static func start(
        _ keywords: [(name: String, value: String)], _ password: Secret?
    ) throws(PostgresError) -> OpaquePointer? {
        var texts: [UnsafeMutablePointer<CChar>?] = unsafe []
        defer { unsafe texts.forEach { unsafe free($0) } }
        var (names, values): ([UnsafePointer<CChar>?], [UnsafePointer<CChar>?]) = unsafe ([], [])
        func add(_ text: String, to list: inout [UnsafePointer<CChar>?]) throws(PostgresError) {
            guard let copy = unsafe strdup(text) else { throw .lost("out of memory") }
            unsafe texts.append(copy)
            unsafe list.append(UnsafePointer(copy))
        }
        for (name, value) in keywords {
            try unsafe add(name, to: &names)
            try unsafe add(value, to: &values)
        }
        guard let password else {
            unsafe names.append(nil)
            unsafe values.append(nil)
            return unsafe cpostgres_start(names, values)
        }
        try unsafe add("password", to: &names)
        unsafe names.append(nil)
        // The password with a zero byte at its end, in locked memory.
        let ended: SecretBytes
        do throws(CryptoError) {
            var copy = try SecretBytes(zeroed: password.count + 1)
            password.withBytes { copy.replace(at: 0, with: $0) }
            ended = copy
        } catch { throw .lost("out of memory") }
        return unsafe ended.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe values.append(bytes.baseAddress?.assumingMemoryBound(to: CChar.self))
                unsafe values.append(nil)
                return unsafe cpostgres_start(names, values)
            }
        }
    }

    /// The most bytes of a server before it admits a user.
    private static let longestGreeting = 1 << 20

    /// - Parameter owners: the users to one of whom the server must belong; `nil` for any.
    private static func finish(
        _ connection: OpaquePointer, _ owners: SocketOwners?, until deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
        var (wanted, taken) = (CPOSTGRES_WANTS_OUTPUT, 0)
        while true {
            let ready = unsafe cpostgres_wait(connection, wanted, -1, (deadline - .now).milliseconds)
            guard ContinuousClock.now < deadline else { throw .lost("the server does not answer") }
            if ready == 0 { continue }
            taken += unsafe Int(cpostgres_waiting(connection))
            guard taken <= longestGreeting else { throw .malformed }
            // Before each step: a step may send the password, or connect anew.
            try owners?.check(unsafe cpostgres_socket(connection))
            switch unsafe cpostgres_step(connection) {
            case CPOSTGRES_CONNECTED: return
            case CPOSTGRES_WANTS_INPUT: wanted = CPOSTGRES_WANTS_INPUT
            case CPOSTGRES_WANTS_OUTPUT: wanted = CPOSTGRES_WANTS_OUTPUT
            default: throw unsafe failure(of: connection)
            }
        }
    }

    /// Returns libpq's text without the part that repeats the address. For a refusal by the server there is only the
    /// code.
    private static func failure(of connection: OpaquePointer) -> PostgresError {
        let text = unsafe bounded(cpostgres_error(connection))
        let line = text.split(separator: "\n").first ?? "the server cannot be reached"
        let reason = line.firstRange(of: " failed: ").map { line[$0.upperBound...] } ?? line
        if let code = reason.split(separator: " ").last, code.utf8.count == 5, reason.contains(":  "),
            code.utf8.allSatisfy(PostgresRefusal.isDigit)
        {
            return .refused(PostgresRefusal(state: String(code), message: ""))
        }
        if reason.contains("session is read-only") {
            return .refused(PostgresRefusal(state: "25006", message: ""))
        }
        return .lost(RecordStoreError.shown(String(reason)))
    }
}
