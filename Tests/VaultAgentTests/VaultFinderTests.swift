// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import VaultAgent

/// The choice of the process that serves a vault, for every state of an agent and every means of unlocking.
struct VaultFinderTests {
    private typealias Means = VaultFinder.Means

    private static let all: [Means] = (0..<8).map { bits in
        Means(hasSource: bits & 1 != 0, canAskMachine: bits & 2 != 0, canAskPerson: bits & 4 != 0)
    }

    @Test func `an unlocked agent serves, and nobody looks for anything else`() {
        for means in Self.all { #expect(VaultFinder.way(beside: .unlocked, means) == .agent) }
    }

    @Test(arguments: [AgentStatus.State.new, .locked])
    func `beside a locked agent a process helps itself with what it was given`(
        state: AgentStatus.State
    ) {
        for means in Self.all where means.hasSource { #expect(VaultFinder.way(beside: state, means) == .ownKey) }
    }

    @Test(arguments: [AgentStatus.State.new, .locked])
    func `what was locked on purpose is not opened by the machine alone`(
        state: AgentStatus.State
    ) {
        let machine = Means(hasSource: false, canAskMachine: true)
        #expect(VaultFinder.way(beside: state, machine) == VaultFinder.way(beside: state, Means(hasSource: false)))
        let person = Means(hasSource: false, canAskMachine: true, canAskPerson: true)
        #expect(VaultFinder.way(beside: state, person) == .agentOncePersonUnlocks)
    }

    @Test
    func
        `with nobody to ask, a locked agent serves what a locked vault has, and one never unlocked nothing`()
    {
        #expect(VaultFinder.way(beside: .locked, Means(hasSource: false)) == .agent)
        #expect(VaultFinder.way(beside: .new, Means(hasSource: false)) == .nothing)
    }

    @Test func `without an agent anything that unlocks will do, and nothing is nothing`() {
        for means in Self.all {
            let isNothing = !means.hasSource && !means.canAskMachine && !means.canAskPerson
            #expect(VaultFinder.way(beside: nil, means) == (isNothing ? .nothing : .ownKey))
        }
    }
}
