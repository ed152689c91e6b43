// SPDX-License-Identifier: Apache-2.0
internal import VaultDoorKit

/// A pending question to the user, and the calls that wait for the answer. There is one at a time.
final class Question {
    enum Holder: Hashable {
        case prompt(Int)
        /// A search of this client.
        case search(String)
    }

    let stop: PromptStop
    /// The clients on whose behalf the question is asked.
    private(set) var clients: Set<DoorClient> = []
    private var holders: Set<Holder> = []
    private var waiting: [Int: (program: ServiceProgram, end: CheckedContinuation<PromptOutcome?, Never>)] = [:]
    private var number = 0

    /// Fails if no descriptors are available.
    init?() {
        guard let stop = PromptStop() else { return nil }
        self.stop = stop
    }

    func join(_ holder: Holder, _ client: DoorClient) {
        holders.insert(holder)
        clients.insert(client)
    }

    /// Removes a holder; cancels the question if none is left.
    func leave(_ holder: Holder) {
        guard holders.remove(holder) != nil, holders.isEmpty else { return }
        stop.stop()
    }

    func wait(_ continuation: CheckedContinuation<PromptOutcome?, Never>, _ program: ServiceProgram) -> Int {
        number += 1
        waiting[number] = (program, continuation)
        return number
    }

    /// Ends the oldest wait of a program, without an answer.
    ///
    /// - Returns: `false` if the program waits for none.
    func giveUpOne(of program: ServiceProgram) -> Bool {
        guard let oldest = waiting.filter({ $0.value.program == program }).keys.min() else { return false }
        answer(oldest, nil)
        return true
    }

    /// - Parameter outcome: `nil` if there is no answer yet.
    func answer(_ number: Int, _ outcome: PromptOutcome?) {
        waiting.removeValue(forKey: number)?.end.resume(returning: outcome)
    }

    func end(_ outcome: PromptOutcome) {
        for number in waiting.keys.sorted() { answer(number, outcome) }
    }
}
