// SPDX-License-Identifier: Apache-2.0

/// The unit by which sessions, prompts and searches are counted: all connections of a program together.
enum ServiceProgram: Hashable {
    case application(String)
    case process(DoorClient)

    init(_ client: DoorClient) {
        // A sandbox may have any number of processes; in a sandbox without a name, each process counts for itself.
        if let sandbox = client.sandbox, !sandbox.isEmpty {
            self = .application(sandbox)
        } else {
            self = .process(client)
        }
    }
}

// The state kept for clients is bounded, and no program can exhaust it for the others: when all is in use, the program
// with the most gives up its oldest for one that has less.

extension SecretService {
    /// The maximum number of sessions and prompts, and likewise of searches that wait for the user, of one program and
    /// of all.
    static let limits = (ofOne: 256, ofAll: 1024)
    /// The maximum number of placeholders for searches, of one program and of all.
    private static let mostSearches = (ofOne: 256, ofAll: 4096)

    /// Returns the unique names of a program's connections.
    private func names(of program: ServiceProgram) -> Set<String> {
        Set(clients.values.filter { ServiceProgram($0.process) == program }.map(\.name))
    }

    /// Returns the program with the most; `nil` if none has more than `own`.
    private func greediest(_ owners: some Sequence<String>, over own: Int) -> ServiceProgram? {
        var counts: [ServiceProgram: Int] = [:]
        for owner in owners {
            if let client = clients[owner] { counts[ServiceProgram(client.process), default: 0] += 1 }
        }
        return counts.max { $0.value < $1.value }.flatMap { $0.value > own ? $0.key : nil }
    }

    // MARK: Sessions and prompts

    /// Makes room for a session or a prompt.
    ///
    /// - Throws: `.tooMany`; `.denied` for a client that has disconnected: nothing would free its state.
    func checkLimits(_ client: ServiceClient) throws(ServiceRefusal) {
        guard clients[client.name] != nil else { throw .denied }
        let owners = sessions.values.map(\.owner) + prompts.values.map(\.owner)
        let names = names(of: ServiceProgram(client.process))
        let own = owners.count { names.contains($0) }
        let tooMany = ServiceRefusal.tooMany("there are too many sessions and prompts")
        guard own < SecretService.limits.ofOne else { throw tooMany }
        guard owners.count >= SecretService.limits.ofAll else { return }
        guard let other = greediest(owners, over: own) else { throw tooMany }
        let others = self.names(of: other)
        let session = sessions.filter { others.contains($0.value.owner) }.keys.min()
        let prompt = prompts.filter { others.contains($0.value.owner) }
        if let session {
            sessions[session] = nil
        } else if let oldest = prompt.keys.min(), let owner = prompt[oldest].flatMap({ clients[$0.owner] }) {
            dismiss(oldest, owner)
        }
    }

    // MARK: Searches

    /// Waits for the user, without blocking other calls.
    func waitAside<R: Sendable>(_ client: ServiceClient, _ body: () async -> R) async -> R {
        let program = ServiceProgram(client.process)
        waiting[program, default: 0] += 1
        underWay -= 1
        let result = await body()
        underWay += 1
        let rest = (waiting[program] ?? 1) - 1
        waiting[program] = rest > 0 ? rest : nil
        return result
    }

    /// Makes room for a search that waits for the user.
    ///
    /// - Throws: `.tooMany`.
    func checkWaiting(_ client: ServiceClient) throws(ServiceRefusal) {
        let own = waiting[ServiceProgram(client.process), default: 0]
        let tooMany = ServiceRefusal.tooMany("too much waits already")
        guard own < SecretService.limits.ofOne else { throw tooMany }
        guard waiting.values.reduce(0, +) >= SecretService.limits.ofAll else { return }
        let most = waiting.max { $0.value < $1.value }
        guard let most, most.value > own, question?.giveUpOne(of: most.key) == true else { throw tooMany }
    }

    /// Returns the placeholder of a search until the vault is unlocked.
    func standIn(
        for attributes: ItemAttributes, in collection: CollectionName?, _ client: ServiceClient
    ) throws(ServiceRefusal) -> ServiceObject {
        guard clients[client.name] != nil else { throw .denied }
        let group: String? = if case .group(let name)? = collection { name } else { nil }
        let known = searches.first {
            $0.value.owner == client.name && $0.value.attributes == attributes && $0.value.group == group
        }
        let home = CollectionName.group(group ?? viewAtOnce(for: client)?.home ?? "default")
        if let known { return .search(home, known.key) }
        try makeRoomForSearch(ServiceProgram(client.process))
        let number = nextNumber()
        searches[number] = LockedSearch(owner: client.name, attributes: attributes, group: group)
        return .search(home, number)
    }

    private func makeRoomForSearch(_ program: ServiceProgram) throws(ServiceRefusal) {
        let names = names(of: program)
        let own = searches.count { names.contains($0.value.owner) }
        var full: ServiceProgram?
        if own >= SecretService.mostSearches.ofOne {
            full = program
        } else if searches.count >= SecretService.mostSearches.ofAll {
            full = greediest(searches.values.map(\.owner), over: own)
            guard full != nil else { throw .tooMany("there are too many searches of a locked vault") }
        }
        guard let full else { return }
        let others = self.names(of: full)
        if let oldest = searches.filter({ others.contains($0.value.owner) }).keys.min() { searches[oldest] = nil }
    }
}
