// SPDX-License-Identifier: Apache-2.0
internal import Dispatch
internal import Synchronization

/// The requests of an extension that are being answered, and those that wait for others. A page can send any number,
/// and each may wait for the user: the requests of one site have a bound of their own, and hold up no other site's.
final class PendingRequests: Sendable {
    /// The bounds of the requests that wait at once: by number, and by the bytes of their messages, which are in locked
    /// memory.
    struct Bounds {
        var requests: Int
        var bytes: Int

        static let ofAll = Bounds(requests: 128, bytes: 8 << 20)
        /// A restored session opens many pages of one site at the same time.
        static let ofSite = Bounds(requests: 32, bytes: 2 << 20)
    }

    /// A line in which requests wait for each other.
    private struct Line: Hashable {
        let action: BrowserAction
        /// `nil` for all sites: extensions up to 1.8 match an answer to the oldest pending request of its action; later
        /// ones number their requests.
        let site: String?
    }

    private struct Load {
        var requests = 0
        var bytes = 0

        func takes(_ more: Int, _ bounds: Bounds) -> Bool { requests < bounds.requests && bytes + more <= bounds.bytes }

        mutating func add(_ sign: Int, _ more: Int) {
            requests += sign
            bytes += sign * more
        }
    }

    private struct State {
        var all = Load()
        var sites: [String: Load] = [:]
        var lines: [Line: (queue: DispatchQueue, waiting: Int)] = [:]
    }

    private let state = Mutex(State())
    private let group = DispatchGroup()

    /// Runs a body behind the earlier ones of its line.
    ///
    /// - Parameters:
    ///   - site: the registrable domain of the page; empty for a request of no page.
    ///   - bytes: the length of the message.
    /// - Returns: `false`, without running the body, if too much is waiting.
    func run(
        _ action: BrowserAction, of site: String, isNumbered: Bool, bytes: Int, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        let line = Line(action: action, site: isNumbered ? site : nil)
        let queue = state.withLock { state -> DispatchQueue? in
            let load = state.sites[site] ?? Load()
            guard state.all.takes(bytes, .ofAll), load.takes(bytes, .ofSite) else { return nil }
            state.all.add(1, bytes)
            state.sites[site, default: Load()].add(1, bytes)
            let queue = state.lines[line]?.queue ?? DispatchQueue(label: "vault.browser.\(action.rawValue)")
            state.lines[line] = (queue, (state.lines[line]?.waiting ?? 0) + 1)
            return queue
        }
        guard let queue else { return false }
        queue.async(group: group) { [self] in
            body()
            state.withLock { state in
                state.all.add(-1, bytes)
                state.sites[site]?.add(-1, bytes)
                if state.sites[site]?.requests == 0 { state.sites[site] = nil }
                state.lines[line]?.waiting -= 1
                if state.lines[line]?.waiting == 0 { state.lines[line] = nil }
            }
        }
        return true
    }

    /// Waits until nothing is pending, or for the timeout.
    func wait(seconds: Int) { _ = group.wait(timeout: .now() + .seconds(seconds)) }
}
