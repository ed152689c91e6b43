// SPDX-License-Identifier: Apache-2.0

/// A question that a person is being asked, and who waits for the answer. There is one at a time.
final class Question {
    enum Holder: Hashable {
        case prompt(Int)
        /// A search of this client's.
        case search(String)
    }

    let stop: PromptStop
    /// On whose behalf it is asked.
    private(set) var clients: Set<DoorClient> = []
    private var holders: Set<Holder> = []
    private var waiting: [Int: (program: ServiceProgram, end: CheckedContinuation<PromptOutcome?, Never>)] = [:]
    private var number = 0

    /// Nil: there are no descriptors for it.
    init?() {
        guard let stop = PromptStop() else { return nil }
        self.stop = stop
    }

    func join(_ holder: Holder, _ client: DoorClient) {
        holders.insert(holder)
        clients.insert(client)
    }

    /// When nobody wants to know any more, nobody is asked any more.
    func leave(_ holder: Holder) {
        guard holders.remove(holder) != nil, holders.isEmpty else { return }
        stop.stop()
    }

    func wait(_ continuation: CheckedContinuation<PromptOutcome?, Never>, _ program: ServiceProgram) -> Int {
        number += 1
        waiting[number] = (program, continuation)
        return number
    }

    /// The program waits for one answer less: for the one that it has waited for the longest.
    ///
    /// - Returns: whether it waits for any.
    func giveUpOne(of program: ServiceProgram) -> Bool {
        guard let oldest = waiting.filter({ $0.value.program == program }).keys.min() else { return false }
        answer(oldest, nil)
        return true
    }

    /// - Parameter outcome: nil: not yet.
    func answer(_ number: Int, _ outcome: PromptOutcome?) {
        waiting.removeValue(forKey: number)?.end.resume(returning: outcome)
    }

    func end(_ outcome: PromptOutcome) {
        for number in waiting.keys.sorted() { answer(number, outcome) }
    }
}

/// A prompt object: what is to happen when its question is answered.
struct ServicePrompt {
    enum Purpose {
        case unlock([ServiceObject])
        case createCollection(label: String, alias: String)
    }

    /// The unique name that it was made for: to others it does not exist.
    let owner: String
    let purpose: Purpose
    var isShown = false
}

/// A search that nobody has answered: the vault was locked. To programs it is a locked item.
struct LockedSearch {
    let owner: String
    let attributes: ItemAttributes
    /// Nil: in all collections.
    let group: String?
}
