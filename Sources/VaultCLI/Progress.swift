// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Glibc
internal import Synchronization

/// The progress of work that takes longer than a second: a line on standard error, if that is a terminal, which is
/// removed when the work is done.
final class Progress: Sendable {
    private struct State {
        var fraction: Double?
        var isOver = false
    }

    /// The line on the terminal, shared by all concurrent work.
    private struct Line {
        var isShown = false
        var holders = 0

        mutating func clear() {
            if isShown { Output.error("\r\u{1B}[K") }
            isShown = false
        }
    }

    private static let line = Mutex(Line())

    private let what: String
    private let state = Mutex(State())
    private let start = ContinuousClock.now

    private init(_ what: String) { self.what = what }

    /// - Parameters:
    ///   - what: the name of the work, such as "verifying".
    ///   - body: receives a function that takes the finished share, from 0 to 1. The function need not be called.
    static func during<R>(_ what: String, _ body: (_ report: @escaping @Sendable (Double) -> Void) throws -> R) rethrows
        -> R
    {
        guard Terminal.isTerminal(STDERR_FILENO) else { return try body { _ in } }
        let progress = Progress(what)
        progress.drawSoon(.seconds(1))
        defer { progress.end() }
        return try body { done in progress.state.withLock { $0.fraction = min(1, max(0, done)) } }
    }

    /// Hides the line during a prompt, which it would overwrite.
    static func held<R: ~Copyable>(_ body: () throws -> R) rethrows -> R {
        line.withLock { line in
            line.clear()
            line.holders += 1
        }
        defer { line.withLock { $0.holders -= 1 } }
        return try body()
    }

    private func drawSoon(_ delay: DispatchTimeInterval) {
        DispatchQueue.global(qos: .userInitiated).asyncAfter(deadline: .now() + delay) { [weak self] in
            guard let self else { return }
            let goesOn = state.withLock { state in
                guard !state.isOver else { return false }
                Self.line.withLock { line in
                    guard line.holders == 0 else { return }
                    line.isShown = true
                    Output.error("\r\u{1B}[K" + text(state.fraction))
                }
                return true
            }
            if goesOn { drawSoon(.milliseconds(200)) }
        }
    }

    private func text(_ fraction: Double?) -> String {
        guard let fraction else { return "vault: \(what) (\((ContinuousClock.now - start).components.seconds) s)" }
        let width = 30
        let done = Int(fraction * Double(width))
        let bar = String(repeating: "#", count: done) + String(repeating: "-", count: width - done)
        return "vault: \(what) [\(bar)] \(Int(fraction * 100)) %"
    }

    private func end() {
        state.withLock { state in
            state.isOver = true
            Self.line.withLock { $0.clear() }
        }
    }
}
