// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultDoorKit

/// A connection of the bus that has called.
struct ServiceClient: Sendable {
    let name: String
    let process: DoorClient
    /// Whether the client has read properties that include whole lists.
    var looksAtLists = false

    var isSandboxed: Bool { process.sandbox != nil }
    var program: ServiceProgram { ServiceProgram(process) }
    /// The owner of the session's collection that the client sees; `nil` for the user.
    var memory: ServiceProgram? { isSandboxed ? program : nil }
}

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

/// A prompt object: the action to be taken once its question is answered.
struct ServicePrompt {
    enum Purpose {
        case unlock([ServiceObject])
        case createCollection(label: String, alias: String)
    }

    /// The unique name of the client for which it was made; to other clients it does not exist.
    let owner: String
    let purpose: Purpose
    var isShown = false
}

/// A search without a result, because the vault was locked. Programs see a locked item.
struct LockedSearch {
    let owner: String
    let attributes: ProgramAttributes
    /// The collection searched; `nil` for all.
    let collection: CollectionName?
}

/// The clients, and the objects that the service keeps for each of them until it disconnects.
///
/// Their number is bounded, and no program can exhaust it for the others: when all is in use, the program with the most
/// gives up its oldest for one that has less.
struct ClientHoldings {
    private(set) var clients: [String: ServiceClient] = [:]
    private(set) var sessions: [Int: ServiceSession] = [:]
    private(set) var prompts: [Int: ServicePrompt] = [:]
    private(set) var searches: [Int: LockedSearch] = [:]
    private var number = 0

    /// The maximum number of sessions and prompts, of one program and of all.
    static let mostObjects = (ofOne: 256, ofAll: 1024)
    /// The maximum number of placeholders for searches, of one program and of all.
    private static let mostSearches = (ofOne: 256, ofAll: 4096)

    /// Returns the number of a new object: no path repeats within the life of the process.
    private mutating func nextNumber() -> Int {
        number += 1
        return number
    }

    // MARK: Clients

    mutating func enter(_ client: ServiceClient) { clients[client.name] = client }

    mutating func noteListsRead(by name: String) { clients[name]?.looksAtLists = true }

    /// Frees all objects of a client that has disconnected, and returns the numbers of its prompts; `nil` for a
    /// connection that has not called.
    mutating func remove(_ name: String) -> (client: ServiceClient, prompts: [Int])? {
        guard let client = clients.removeValue(forKey: name) else { return nil }
        let owned = prompts.filter { $0.value.owner == name }.keys
        for number in owned { prompts[number] = nil }
        sessions = sessions.filter { $0.value.owner != name }
        searches = searches.filter { $0.value.owner != name }
        return (client, Array(owned))
    }

    /// Returns the unique names of a program's connections.
    private func names(of program: ServiceProgram) -> Set<String> {
        Set(clients.values.filter { $0.program == program }.map(\.name))
    }

    /// Returns the program with the most; `nil` if none has more than `own`.
    private func greediest(_ owners: some Sequence<String>, over own: Int) -> ServiceProgram? {
        var counts: [ServiceProgram: Int] = [:]
        for owner in owners {
            if let client = clients[owner] { counts[client.program, default: 0] += 1 }
        }
        return counts.max { $0.value < $1.value }.flatMap { $0.value > own ? $0.key : nil }
    }

    // MARK: Sessions and prompts

    /// Makes room for a session or a prompt. A session that gives way is gone.
    ///
    /// - Returns: the prompt that gives way, which its client waits for.
    /// - Throws: `.tooMany`; `.denied` for a client that has disconnected: nothing would free its state.
    mutating func makeRoom(for client: ServiceClient) throws(ServiceRefusal) -> (prompt: Int, of: ServiceClient)? {
        guard clients[client.name] != nil else { throw .denied }
        let owners = sessions.values.map(\.owner) + prompts.values.map(\.owner)
        let names = names(of: client.program)
        let own = owners.count { names.contains($0) }
        let tooMany = ServiceRefusal.tooMany("there are too many sessions and prompts")
        guard own < ClientHoldings.mostObjects.ofOne else { throw tooMany }
        guard owners.count >= ClientHoldings.mostObjects.ofAll else { return nil }
        guard let other = greediest(owners, over: own) else { throw tooMany }
        let others = self.names(of: other)
        if let session = sessions.filter({ others.contains($0.value.owner) }).keys.min() {
            sessions[session] = nil
            return nil
        }
        guard let oldest = prompts.filter({ others.contains($0.value.owner) }).keys.min(),
            let owner = prompts[oldest].flatMap({ clients[$0.owner] })
        else { return nil }
        return (oldest, owner)
    }

    mutating func add(_ session: ServiceSession) -> ServiceObject {
        let number = nextNumber()
        sessions[number] = session
        return .session(number)
    }

    mutating func removeSession(_ number: Int) { sessions[number] = nil }

    mutating func add(_ prompt: ServicePrompt) -> ServiceObject {
        let number = nextNumber()
        prompts[number] = prompt
        return .prompt(number)
    }

    /// - Returns: the prompt; `nil` if there is none, or it is shown already.
    mutating func beginShowing(_ number: Int) -> ServicePrompt? {
        guard let prompt = prompts[number], !prompt.isShown else { return nil }
        prompts[number]?.isShown = true
        return prompt
    }

    mutating func removePrompt(_ number: Int) -> ServicePrompt? { prompts.removeValue(forKey: number) }

    // MARK: Searches

    /// Returns the number of the placeholder of a search until the vault is unlocked.
    mutating func standIn(
        for attributes: ProgramAttributes, in collection: CollectionName?, _ client: ServiceClient
    ) throws(ServiceRefusal) -> Int {
        guard clients[client.name] != nil else { throw .denied }
        let known = searches.first {
            $0.value.owner == client.name && $0.value.attributes == attributes && $0.value.collection == collection
        }
        if let known { return known.key }
        try makeRoomForSearch(client.program)
        let number = nextNumber()
        searches[number] = LockedSearch(owner: client.name, attributes: attributes, collection: collection)
        return number
    }

    private mutating func makeRoomForSearch(_ program: ServiceProgram) throws(ServiceRefusal) {
        let names = names(of: program)
        let own = searches.count { names.contains($0.value.owner) }
        var full: ServiceProgram?
        if own >= ClientHoldings.mostSearches.ofOne {
            full = program
        } else if searches.count >= ClientHoldings.mostSearches.ofAll {
            full = greediest(searches.values.map(\.owner), over: own)
            guard full != nil else { throw .tooMany("there are too many searches of a locked vault") }
        }
        guard let full else { return }
        let others = self.names(of: full)
        if let oldest = searches.filter({ others.contains($0.value.owner) }).keys.min() { searches[oldest] = nil }
    }
}
