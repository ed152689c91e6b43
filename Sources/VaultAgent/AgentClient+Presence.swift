// SPDX-License-Identifier: Apache-2.0
internal import Glibc
public import Vault
package import VaultCrypto

/// What a client does when an item demands that a person is asked.
package enum Asking: Sendable {
    /// A door of the agent's asks, for each request anew.
    case byDoor
    /// Nobody is asked, and queries leave such items out.
    case never
    /// The client's own program asks, once: it is to call ``AgentClient/authenticate(with:)``.
    case byProgram(@Sendable (AgentClient) throws(VaultError) -> Void)
}

extension AgentClient {
    /// The same agent, to which a person has just given the vault's passphrase: what this client asks for is theirs to
    /// allow, and they have, for as long as it lives. A door shows them the program and the reason.
    ///
    /// - Parameters:
    ///   - reason: what the program says to the person. They see it as a program's words; what is no text in it, and
    ///     what is over 140 characters, they do not see.
    /// - Returns: a client on a connection of its own. When that ends, so does the permission, and its requests end
    ///   with `.presenceRequired` where they need one.
    /// - Throws: `.presenceRequired`: nobody can be asked; `.cancelled`: they have said no; after three tries
    ///   `.storage(.wrongPassphrase)`; `.agent(.unanswered)`: not in 60 seconds; `.agent`: the agent is gone.
    public func attended(reason: String?) throws(VaultError) -> AgentClient { try attended(reason: reason, nil) }

    /// - Parameter call: lets another thread end it.
    package func attended(reason: String?, _ call: AgentCall?) throws(VaultError) -> AgentClient {
        var connection = try connect()
        guard call?.begin(connection.line) ?? true else { throw .agent(.gone) }
        try connection.send(AuthenticateRequest(reason: reason))
        let reply: Result<TicketReply, VaultError> = try connection.receive(isPatient: true)
        return AgentClient(self, on: connection, try reply.get().value)
    }

    /// Shows the agent the passphrase that a person has just given this program: from then on what they may allow is
    /// allowed to this client, until its connection ends.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`. Each failure makes the next attempt wait longer.
    package func authenticate(with passphrase: Passphrase) throws(VaultError) {
        keep(try ask(AuthenticateRequest(reason: nil, passphrase: passphrase)).value)
    }

    /// Runs a request, and once more when a person has allowed it.
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

    /// The query as this client means it.
    func meant(_ query: Query) -> Query {
        guard case .never = asking, case .asked = query.presence else { return query }
        var query = query
        query.presence = .leftOut
        return query
    }

    public func withPermission<R>(
        _ presence: Query.Presence, _ body: (any ItemStore) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        try withPresence(presence) { client throws(VaultError) in try body(client) }
    }

    public func secret(
        of record: ItemRecord, field: String?, presence: Query.Presence
    ) throws(VaultError) -> Secret? {
        let request = SecretRequest(StoredItem.Key(record), field: field)
        return try withPresence(presence) { client throws(VaultError) in try client.ask(request).value }
    }

    // MARK: Doors

    /// Offers to ask people, for as long as the agent serves. Returns when the connection has ended.
    ///
    /// - Parameters:
    ///   - call: lets another thread end it.
    ///   - begins: called when the agent has heard the offer.
    ///   - hears: called with each question, and when it is no longer wanted. It is not to wait for a person.
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

    /// Says what a person has answered.
    ///
    /// - Throws: `.storage(.wrongPassphrase)`: they may try once more; `.cancelled`: the question is no longer asked,
    ///   or the passphrase was the third wrong one.
    package func answer(_ question: QuestionID, _ answer: PersonAnswer) throws(VaultError) {
        _ = try ask(AnswerRequest(question, answer))
    }
}
