// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultCrypto
internal import VaultFormat
internal import VaultSync

/// A connection to a cluster, through any of its members that answers. Carries one call at a time.
final class EtcdConnection: Sendable {
    /// The longest answer in bytes: a page of records in base64.
    static let longestAnswer = 24 << 20
    private static let longestToken = 64 << 10

    enum Call: String {
        case range = "kv/range"
        case transaction = "kv/txn"
        case delete = "kv/deleterange"
        case watch
    }

    private struct State {
        /// The index of the member that is asked first: the last one that answered.
        var host = 0
        /// The header line with the token; `nil` if there is none yet or none is necessary. A token is only sent on
        /// connections that were open when it was issued: a server that was restored to an older state would wait
        /// without end until it is as new as the token.
        var token: Secret?
        var needsToken: Bool
        var connections: UInt64 = 0
    }

    private let user: String
    private let password: Secret?
    private let hosts: [EtcdHost]
    private let handle: CurlHandle
    private let state: Mutex<State>

    /// - Throws: `.refused` without a host or libcurl.
    init(_ remote: RemoteAccess) throws(RecordStoreError) {
        hosts = EtcdHost.all(of: remote)
        guard !hosts.isEmpty else { throw .refused("etcd is at a host: etcd://host:2379", hint: nil) }
        (user, password) = (remote.url.user ?? "", remote.credentials.password)
        handle = try CurlHandle(remote.credentials)
        state = Mutex(State(needsToken: password != nil))
    }

    /// A number that changes with each new connection, which may lead to another server or to another state of it.
    var generation: UInt64 { state.withLock { $0.connections } }

    /// The members in the notation of a URL.
    var name: String { hosts.map(\.name).joined(separator: ",") }

    /// Calls one member after the other until one answers.
    func call(_ call: Call, _ body: String, longest: Int = longestAnswer) throws(RecordStoreError) -> EtcdAnswer {
        do throws(EtcdError) { return try answer(call, body, longest) } catch { throw error.error(at: name) }
    }

    /// Does the work of ``call(_:_:longest:)``, with errors that the caller may handle.
    func answer(_ call: Call, _ body: String, _ longest: Int = longestAnswer) throws(EtcdError) -> EtcdAnswer {
        let body = Array(body.utf8)
        let text = try state.withLock { state throws(EtcdError) -> [UInt8] in
            try authenticated(&state) { state, needsOpen throws(EtcdError) in
                let sink = AnswerText(longest)
                try post(call.rawValue, body.span, &state, sink, needsOpen: needsOpen)
                return sink.bytes
            }
        }
        return try EtcdAnswer(text)
    }

    /// Reads an endless answer, until the server ends it or ``stop()`` is called.
    func stream(_ call: Call, _ body: String, _ sink: any StreamSink) throws(EtcdError) {
        let body = Array(body.utf8)
        try state.withLock { state throws(EtcdError) in
            try authenticated(&state) { state, needsOpen throws(EtcdError) in
                try post(call.rawValue, body.span, &state, sink, needsOpen: needsOpen)
            }
        }
    }

    /// Ends the current call and every later one. Callable from any thread.
    func stop() { handle.stop() }

    // MARK: Tokens

    /// - Parameter body: receives whether the call may only use an open connection.
    private func authenticated<R>(
        _ state: inout State, _ body: (inout State, Bool) throws(EtcdError) -> R
    ) throws(EtcdError) -> R {
        if state.token != nil {
            do throws(EtcdError) { return try body(&state, true) } catch {
                switch error {
                case .tokenRejected, .notOpen: state.token = nil
                default: throw error
                }
            }
        }
        if state.needsToken { try authenticate(&state) }
        return try body(&state, false)
    }

    private func authenticate(_ state: inout State) throws(EtcdError) {
        guard let password else { return }
        let sink = SecretText(Self.longestToken)
        do throws(EtcdError) {
            let body = try credentials(password)
            try body.withBytes { body throws(EtcdError) in
                try post("auth/authenticate", body, &state, sink)
            }
            state.token = try Self.header(sink)
        } catch {
            guard error == .needsNoToken else { throw error }
            state.needsToken = false
        }
    }

    private func credentials(_ password: Secret) throws(EtcdError) -> Secret {
        let user = user
        return try Self.secured { () throws(CryptoError) in
            var body = try JSONWriter(capacity: 256)
            try body.begin("{")
            try body.member("name", user)
            try body.member("password", password)
            try body.end("}")
            return Secret(try body.take())
        }
    }

    private static func header(_ answer: SecretText) throws(EtcdError) -> Secret {
        let text = try secured { () throws(CryptoError) in try answer.text() }
        let line: Secret? = try text.withBytes { text throws(EtcdError) in
            let node: JSONNode
            do throws(JSONFlaw) { node = try JSONNode(text) } catch { throw .malformed(error.text) }
            guard let token = node["token"], token.isString, !token.range.isEmpty else { return nil }
            // Only characters that cannot end the header line.
            guard token.range.allSatisfy({ 0x21...0x7e ~= text[$0] && text[$0] != UInt8(ascii: "\\") }) else {
                return nil
            }
            return try secured { () throws(CryptoError) in
                var line = try SecretBuffer()
                try line.append("Authorization: ")
                try line.append(text.extracting(token.range))
                try line.append(0)
                return Secret(try line.bytes())
            }
        }
        guard let line else { throw .malformed("no token") }
        return line
    }

    private static func secured<R: ~Copyable>(_ body: () throws(CryptoError) -> R) throws(EtcdError) -> R {
        do throws(CryptoError) { return try body() } catch {
            throw .refused("no memory for a password", hint: nil)
        }
    }

    // MARK: Hosts

    /// Calls one member after the other, starting with the last one that answered.
    private func post(
        _ path: String, _ body: Span<UInt8>, _ state: inout State, _ sink: any AnswerSink, needsOpen: Bool = false
    ) throws(EtcdError) {
        let isStream = sink is any StreamSink
        let (token, first) = (state.token, state.host)
        var failure: EtcdError?
        for step in hosts.indices {
            let index = (first + step) % hosts.count
            let host = hosts[index]
            sink.begin()
            let outcome = handle.post(
                host.url + path, header: token, body, isStream: isStream, needsOpen: needsOpen
            ) { sink.take($0) }
            if outcome.isNewConnection || step > 0 { state.connections += 1 }
            do throws(EtcdError) {
                if let failure = sink.failure ?? outcome.failure(at: host) { throw failure }
                guard outcome.status == 200 else {
                    throw EtcdError(status: outcome.status, sink.errorWords, at: host.name)
                }
                state.host = index
                return
            } catch {
                guard case .unreachable = error else { throw error }
                // The token may be the reason why there was no answer.
                (state.token, state.host) = (nil, (index + 1) % hosts.count)
                failure = failure ?? error
                // Another member's answer would be a different stream.
                if isStream, sink.hasBegun { break }
            }
        }
        throw failure ?? .unreachable(name)
    }
}
