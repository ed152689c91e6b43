// SPDX-License-Identifier: Apache-2.0
internal import Glibc
public import Vault
package import VaultCrypto

/// A client's way to ask a person when an item requires presence.
package enum Asking: Sendable {
    /// A door of the agent asks, separately for each request.
    case byDoor
    /// No person is asked, and queries leave such items out.
    case never
    /// The client's own program asks once, and calls ``AgentClient/authenticate(with:)``.
    case byProgram(@Sendable (AgentClient) throws(VaultError) -> Void)
}

extension AgentClient {
    /// Returns a client with a person's permission, for which the person gives the vault's passphrase to a door. The
    /// door shows the program and the reason. The permission covers all requests of the new client, as long as it
    /// lives.
    ///
    /// - Parameters:
    ///   - reason: the program's explanation for the person, which the door marks as such. The door omits anything
    ///     but text, and anything beyond 140 characters.
    /// - Returns: a client on a connection of its own. The permission ends with the connection; then requests that
    ///   need it throw `.presenceRequired`.
    /// - Throws: `.presenceRequired` if no door can ask; `.cancelled` if the person declines;
    ///   `.storage(.wrongPassphrase)` after three tries; `.agent(.unanswered)` after 60 seconds; `.agent` if the agent
    ///   is gone.
    public func attended(reason: String?) throws(VaultError) -> AgentClient { try attended(reason: reason, nil) }

    /// - Parameter call: a handle by which another thread can end the call.
    package func attended(reason: String?, _ call: AgentCall?) throws(VaultError) -> AgentClient {
        var connection = try connect()
        guard call?.begin(connection.line) ?? true else { throw .agent(.gone) }
        let ticket = try connection.ask(AuthenticateRequest(reason: reason, passphrase: nil)).value
        return AgentClient(self, on: connection, ticket)
    }

    /// Proves a person's presence by the passphrase that the person has given this program. From then on this client
    /// has the permission, until its connection ends.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`. Each failure delays the next attempt further.
    package func authenticate(with passphrase: Passphrase) throws(VaultError) {
        keep(try ask(AuthenticateRequest(reason: nil, passphrase: passphrase)).value)
    }

    /// Runs a request, and once more after a person has permitted it.
    package func withPresence<R>(
        _ presence: Query.Presence = .asked(reason: nil), _ body: (AgentClient) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        do throws(VaultError) { return try body(self) } catch {
            guard error == .presenceRequired, case .asked(let reason) = presence, !isAttended else { throw error }
            switch asking {
            case .never: throw error
            case .byDoor: return try body(try attended(reason: reason))
            case .byProgram(let ask):
                try ask(self)
                return try body(self)
            }
        }
    }

    /// Returns the query with this client's setting about presence.
    func meant(_ query: Query) -> Query {
        guard case .never = asking, case .asked = query.presence else { return query }
        var query = query
        query.presence = .leftOut
        return query
    }

    /// Runs a body that only reads. If that requires user presence and the person asked grants it, the body runs once
    /// more, with permission for all that it reads.
    ///
    /// - Throws: the body's error; `.presenceRequired`, `.cancelled` if the person refuses.
    public func withPermission<R>(
        _ presence: Query.Presence, _ body: (any ItemStore) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        try withPresence(presence) { client throws(VaultError) in try body(client) }
    }

    /// Opens the secret of an item that was found, or a field of it, asking a person if that requires user presence.
    ///
    /// - Throws: as ``secret(of:field:)``; `.presenceRequired`, `.cancelled`.
    public func secret(of record: ItemRecord, field: String?, presence: Query.Presence) throws(VaultError) -> Secret? {
        let request = SecretRequest(item: StoredItem.Key(record), field: field)
        return try withPresence(presence) { client throws(VaultError) in try client.ask(request).value }
    }

    // MARK: Doors

    /// Offers to ask people, as long as the agent runs. Returns when the connection has ended.
    ///
    /// - Parameters:
    ///   - call: a handle by which another thread can end the offer.
    ///   - begins: called when the agent has accepted the offer.
    ///   - hears: called with each question, and with its withdrawal. Must not wait for a person.
    package func offerToAsk(
        _ call: AgentCall, begins: () -> Void = {}, hears: (QuestionEvent) -> Void
    ) throws(VaultError) {
        var connection = try connect()
        guard call.begin(connection.line) else { return }
        try connection.send(QuestionsRequest())
        while true {
            let reply: Result<QuestionReply, VaultError> = try connection.receive(isPatient: true)
            if let event = try reply.get().value { hears(event) } else { begins() }
        }
    }

    /// Reports a person's answer.
    ///
    /// - Throws: `.storage(.wrongPassphrase)` if the person may try again; `.cancelled` if the question was
    ///   withdrawn, or the passphrase was the third wrong one.
    package func answer(_ question: QuestionID, _ answer: PersonAnswer) throws(VaultError) {
        _ = try ask(AnswerRequest(question: question, answer: answer))
    }
}
