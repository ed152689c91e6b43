// SPDX-License-Identifier: Apache-2.0
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import VaultBrowser

/// Requests that wait, for the user or for each other.
struct PendingRequestsTests {
    private let pending = PendingRequests()
    private let goOn = DispatchSemaphore(value: 0)
    private let order = Order()

    private final class Order: Sendable {
        private let names = Mutex<[String]>([])
        private let isNews = DispatchSemaphore(value: 0)

        func add(_ name: String) {
            names.withLock { $0.append(name) }
            isNews.signal()
        }

        /// Waits for the next body to run.
        func next() -> Bool { isNews.wait(timeout: Patience.deadline) == .success }

        var all: [String] { names.withLock { $0 } }
    }

    private func waits(
        _ site: String, _ action: BrowserAction = .passkeysGet, isNumbered: Bool = true, bytes: Int = 100
    ) -> Bool {
        pending.run(action, of: site, isNumbered: isNumbered, bytes: bytes) { [order, goOn] in
            order.add(site)
            goOn.wait()
        }
    }

    private func runs(_ site: String, _ action: BrowserAction = .passkeysGet, isNumbered: Bool = true) -> Bool {
        pending.run(action, of: site, isNumbered: isNumbered, bytes: 100) { [order] in order.add(site) }
    }

    private func end(_ count: Int) {
        for _ in 0..<count { goOn.signal() }
        pending.wait(seconds: 60)
    }

    @Test func `one site's requests have a bound, and others go on`() async throws {
        try await aside {
            let most = PendingRequests.Bounds.ofSite.requests
            for _ in 0..<most { #expect(waits("a.example")) }
            #expect(!waits("a.example") && !runs("a.example", .getLogins))
            #expect(order.next())
            #expect(runs("b.example") && order.next())
            #expect(order.all == ["a.example", "b.example"])
            end(most)
            #expect(runs("a.example") && order.all.count >= most + 1)
            pending.wait(seconds: 60)
        }
    }

    @Test func `all sites together have a bound, and what has ended makes room`() async throws {
        try await aside {
            let (all, each) = (PendingRequests.Bounds.ofAll.requests, PendingRequests.Bounds.ofSite.requests)
            for number in 0..<all { #expect(waits("\(number / each).example")) }
            #expect(!runs("new.example"))
            end(all)
            #expect(runs("new.example"))
            pending.wait(seconds: 60)
        }
    }

    @Test func `long messages use up the room as many short ones do`() async throws {
        try await aside {
            #expect(waits("a.example", bytes: 1 << 20) && waits("a.example", bytes: 1 << 20))
            #expect(!waits("a.example", bytes: 1))
            for number in 0..<6 { #expect(waits("\(number).example", bytes: 1 << 20)) }
            #expect(!waits("b.example", bytes: 1))
            end(8)
            #expect(runs("a.example"))
            pending.wait(seconds: 60)
        }
    }

    @Test
    func `without numbers the requests of an action wait for each other, and those of another do not`() async throws {
        try await aside {
            #expect(waits("a.example", isNumbered: false) && order.next())
            #expect(runs("b.example", isNumbered: false))
            #expect(runs("c.example", .getLogins, isNumbered: false) && order.next())
            #expect(order.all == ["a.example", "c.example"])
            end(1)
            #expect(order.all == ["a.example", "c.example", "b.example"])
        }
    }
}
