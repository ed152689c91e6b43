// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultDoorKit

/// Answers the requests of an extension. Threads may share a door: a request that waits for the user blocks no other.
final class BrowserDoor: Sendable {
    let house: any BrowserHouse
    let random: any RandomSource
    /// Seconds since 1970.
    let now: @Sendable () -> UInt64
    let suffixes: PublicSuffixes
    let questions = BrowserQuestions()

    init(
        _ house: any BrowserHouse, random: any RandomSource = SystemRandom(),
        suffixes: PublicSuffixes = .ofMachine,
        now: @escaping @Sendable () -> UInt64 = { UInt64(max(0, Date().timeIntervalSince1970)) }
    ) {
        (self.house, self.random, self.suffixes, self.now) = (house, random, suffixes, now)
    }

    /// Returns the answer to a request, as the message to be sent.
    func answer(_ request: BrowserRequest) -> [UInt8] {
        do throws(BrowserError) {
            let content = try answerContent(request)
            return BrowserAnswer.boxed(
                request.action, request.channel.seal(content, nonce: request.nonce), nonce: request.nonce)
        } catch { return BrowserAnswer.failure(error, request.action.rawValue, requestID: request.requestID) }
    }

    /// The registrable domain of the page that a request is for; empty if it is for none.
    func site(of request: BrowserRequest) -> String {
        let url = request.message.text("origin") ?? request.message.text("url")
        return url.flatMap { WebPlace($0) }.map { suffixes.registrableDomain(of: $0.host) } ?? ""
    }

    private func answerContent(_ request: BrowserRequest) throws(BrowserError) -> SecretBytes {
        guard request.action != .requestAutotype else { throw .denied }
        guard let vaultID = house.vaultID, let store = openStore(request) else { throw .notOpen }
        let call = BrowserCall(door: self, request: request, store: store, vaultID: vaultID)
        return try BrowserAnswer.content(request.action, nonce: request.nonce, try call.answer())
    }

    private func openStore(_ request: BrowserRequest) -> (any ItemStore)? {
        if let store = house.openStore() { return store }
        guard request.triggersUnlock, request.action != .lockDatabase else { return nil }
        let outcome = questions.ask("unlock", unless: { self.house.openStore() == nil ? nil : .done }) {
            self.house.unlock()
        }
        return outcome == .done ? house.openStore() : nil
    }
}
