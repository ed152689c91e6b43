// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Vault
internal import VaultAgent
internal import VaultBus
internal import VaultDoorKit

extension SecretService {
    /// The timeout of a prompt.
    private static let patience = Duration.seconds(120)

    // MARK: Calls

    func unlock(_ objects: [ServiceObject], _ client: ServiceClient) async throws(ServiceRefusal) -> [BusValue] {
        guard objects.contains(where: \.canBeLocked) else { return [.paths(objects.map(\.path)), ServiceObject.none] }
        do throws(ServiceRefusal) {
            let view = try await unlockedView(for: client)
            open(objects, view)
            var unlocked: [String] = []
            for object in objects where try await isThere(object, view, client) { unlocked.append(object.path) }
            return [.paths(unlocked), ServiceObject.none]
        } catch {
            guard error == .isLocked || error == .noVault else { throw error }
            let prompt = error == .isLocked ? try makePrompt(.unlock(objects), client).value : ServiceObject.none
            return [.paths(objects.filter { !$0.canBeLocked }.map(\.path)), prompt]
        }
    }

    /// Returns whether an object to be unlocked exists for the client.
    private func isThere(
        _ object: ServiceObject, _ view: VaultView, _ client: ServiceClient
    ) async throws(ServiceRefusal) -> Bool {
        guard case .search = object else { return true }
        do throws(ServiceRefusal) { _ = try await item(object, view, client) } catch {
            guard error == .noSuchObject else { throw error }
            return false
        }
        return true
    }

    // MARK: Prompts

    func makePrompt(_ purpose: ServicePrompt.Purpose, _ client: ServiceClient) throws(ServiceRefusal) -> ServiceObject {
        try makeRoom(for: client)
        return holdings.add(ServicePrompt(owner: client.name, purpose: purpose))
    }

    /// Shows a prompt; a signal reports its end.
    func show(_ number: Int, _ client: ServiceClient) {
        guard let prompt = holdings.beginShowing(number) else { return }
        Task {
            var makes = false
            if case .createCollection = prompt.purpose { makes = !house.hasVault }
            let outcome = await ask(
                .prompt(number), client, patience: SecretService.patience, makesVault: makes)
            asking.leave(.prompt(number))
            await complete(number, client, isDone: outcome == .done)
        }
    }

    func dismiss(_ number: Int, _ client: ServiceClient) {
        asking.leave(.prompt(number))
        Task { await complete(number, client, isDone: false) }
    }

    private func complete(_ number: Int, _ client: ServiceClient, isDone: Bool) async {
        guard let prompt = holdings.removePrompt(number) else { return }
        var (result, isDismissed): (BusValue, Bool)
        switch prompt.purpose {
        case .unlock(let objects):
            var paths: [String] = []
            if isDone, let view = try? await unlockedView(for: client) {
                open(objects, view)
                for object in objects {
                    guard (try? await isThere(object, view, client)) == true else { continue }
                    paths.append(object.path)
                    // Programs read the item behind the path anew before they look at the result.
                    if case .search = object, let item = try? await item(object, view, client) {
                        signalProperties(item.properties, of: object, to: client.name)
                    }
                }
            }
            (result, isDismissed) = (.paths(paths), !isDone)
        case .createCollection(let label, let alias):
            (result, isDismissed) = (.path("/"), true)
            if isDone, let view = try? await unlockedView(for: client) {
                var made = await existing(label, alias, view)
                if made == nil { made = try? await makeCollection(label, alias, view) }
                if let made { (result, isDismissed) = (.path(made.path), false) }
            }
        }
        let completed = BusMember(interface: ServiceCall.Kind.prompt.interface, name: "Completed")
        send(completed, at: .prompt(number), to: client.name, [.flag(isDismissed), .variant(result)])
    }

    // MARK: Asking

    /// Asks the user, or joins the pending question; `nil` on timeout, after which the question stays for later calls.
    func ask(
        _ holder: Question.Holder, _ client: ServiceClient, patience: Duration, makesVault: Bool = false
    ) async -> PromptOutcome? {
        // A client that disconnected during its call would keep the question open.
        guard holdings.clients[client.name] != nil, !isClosing else { return .dismissed }
        guard !asking.isResting(client.process) else { return .dismissed }
        // A cancelled question has no answer for this call; wait for its end.
        while let asked = asking.question, asked.stop.isStopped {
            _ = await withCheckedContinuation { _ = asked.wait($0, client.program) }
        }
        let question: Question
        if let asked = asking.question {
            question = asked
            question.join(holder, client.process)
        } else {
            guard house.canAsk, let new = Question() else { return .unavailable }
            question = new
            asking.begin(question)
            question.join(holder, client.process)
            let (house, process, stop) = (house, client.process, question.stop)
            let shown = shownPrompts
            shown.enter()
            Task {
                let outcome = await DoorWorker.run {
                    defer { shown.leave() }
                    return makesVault
                        ? house.makeVault(for: process, until: stop) : house.unlock(for: process, until: stop)
                }
                await end(question, outcome)
            }
        }
        return await withCheckedContinuation { continuation in
            giveUp(question, question.wait(continuation, client.program), after: patience)
        }
    }

    private func giveUp(_ question: Question, _ number: Int, after patience: Duration) {
        // A weak reference, so that the timer does not keep an ended question and its descriptors.
        Task { [weak question] in
            await DoorWorker.pause(for: patience)
            stopWaiting(for: question, number)
        }
    }

    private func stopWaiting(for question: Question?, _ number: Int) { question?.answer(number, nil) }

    private func end(_ question: Question, _ outcome: PromptOutcome) async {
        asking.end(question)
        var outcome = outcome
        // The vault may have been unlocked elsewhere, which ends the question.
        for client in holdings.clients.values where question.clients.contains(client.process) {
            if (try? await unlockedView(for: client)) != nil { outcome = .done }
        }
        asking.noteEnd(of: question, outcome)
        question.end(outcome)
    }
}
