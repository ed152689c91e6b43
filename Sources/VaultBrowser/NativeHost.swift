// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization
internal import Vault
internal import VaultAgent
internal import VaultCrypto
package import VaultDoorKit

/// A native-messaging host for the extension KeePassXC-Browser, as started by a browser: reads and writes frames.
package final class NativeHost: Sendable {
    /// The name by which the extension calls the host, the same as that of KeePassXC's host.
    package static let name = "org.keepassxc.keepassxc_browser"
    package static let firefoxExtensions = ["keepassxc-browser@keepassxc.org"]
    /// The identifiers in the Chrome Web Store and in Edge's store.
    package static let chromiumExtensions = [
        "oboonakemofpalcgghocfoadofidjkkk", "pdffhmdngciaglkoonimfcmckehcpafo",
    ]

    private let door: BrowserDoor
    private let stream: NativeStream
    private let stop: PromptStop
    private let pending = PendingRequests()

    /// Returns whether a browser's arguments name an extension that this host serves: Firefox passes the manifest's
    /// path and the extension, Chromium an origin, which other arguments may follow.
    package static func isMeant(for arguments: [String]) -> Bool {
        guard let first = arguments.first else { return false }
        if first.hasPrefix("/") { return arguments.count >= 2 && firefoxExtensions.contains(arguments[1]) }
        return chromiumExtensions.contains { first == "chrome-extension://\($0)/" }
    }

    /// - Parameters:
    ///   - input: the descriptor from which frames are read; `output` is the one to which answers are written.
    ///   - stop: cancels a pending question.
    package init(_ house: any BrowserHouse, input: Int32, output: Int32, until stop: PromptStop) {
        door = BrowserDoor(house)
        stream = NativeStream(input: input, output: output)
        self.stop = stop
    }

    /// Serves until the browser closes its end.
    package func run() throws(NativeFrameError) {
        var frames = NativeFrames()
        var session = BrowserSession(door.random)
        defer { finish() }
        while true {
            let bytes = stream.read()
            guard !bytes.isEmpty else { return try frames.end() }
            frames.append(bytes)
            while let message = try frames.next() {
                switch session.take(message) {
                case .answer(let answer): try send(answer)
                case .request(let request): try perform(request, bytes: message.count)
                }
            }
        }
    }

    private func perform(_ request: BrowserRequest, bytes: Int) throws(NativeFrameError) {
        let isTaken = pending.run(
            request.action, of: door.site(of: request), isNumbered: request.requestID != nil, bytes: bytes
        ) { [self] in
            // A browser that no longer reads has closed the other end as well.
            try? send(door.answer(request))
        }
        guard !isTaken else { return }
        try send(BrowserAnswer.failure(.denied, request.action.rawValue, requestID: request.requestID))
    }

    private func send(_ message: [UInt8]) throws(NativeFrameError) {
        guard let frame = NativeFrames.frame(message) else { return }
        try stream.write(frame)
    }

    /// Cancels pending questions: a prompt does not outlive the browser.
    private func finish() {
        stop.stop()
        pending.wait(seconds: 5)
    }

    // MARK: Signals

    /// Notifies the extension when the vault is locked or unlocked from now on, by any process.
    package func follow(_ house: AgentBrowserHouse) {
        let isUnlocked = house.openStore() != nil
        DispatchQueue(label: "vault.browser.watch").async { [self] in
            let state = SignalledState(isUnlocked) { [self] isUnlocked in
                try? send(BrowserAnswer.signal(isUnlocked: isUnlocked))
            }
            while !stop.isStopped {
                if let (agent, _) = house.agent() {
                    let changes = agent.changes(matching: nil, from: nil)
                    // The watch does not report changes made before it began.
                    state.note(house.openStore() != nil)
                    NativeHost.read(changes) { kind in
                        switch kind {
                        case .locked: state.note(false)
                        case .unlocked: state.note(true)
                        default: break
                        }
                    }
                }
                state.note(house.openStore() != nil)
                // An agent that is not running yet, or was never unlocked, reports nothing: look again later.
                guard !stop.waits(milliseconds: NativeHost.lookAgain) else { return }
            }
        }
    }

    private static let lookAgain: Int32 = 2000

    /// Reads changes until the sequence ends.
    private static func read(_ changes: ChangeSequence, _ heard: @escaping @Sendable (ItemChange.Kind) -> Void) {
        let end = DispatchSemaphore(value: 0)
        Task {
            for await change in changes { heard(change.kind) }
            end.signal()
        }
        end.wait()
    }
}

/// The lock state that the extension was last notified of.
private final class SignalledState: Sendable {
    private let last: Mutex<Bool>
    private let tell: @Sendable (Bool) -> Void

    init(_ last: Bool, _ tell: @escaping @Sendable (Bool) -> Void) {
        self.last = Mutex(last)
        self.tell = tell
    }

    func note(_ isUnlocked: Bool) {
        let isNews = last.withLock { last in
            defer { last = isUnlocked }
            return last != isUnlocked
        }
        if isNews { tell(isUnlocked) }
    }
}
