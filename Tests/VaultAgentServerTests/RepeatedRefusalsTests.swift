// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing
import Vault
import VaultAgent

@testable import VaultAgentServer

/// The lines of refusals that repeat.
struct RepeatedRefusalsTests {
    private let start = Date(timeIntervalSinceReferenceDate: 1000)

    private func key(_ process: Int32, _ reason: String = "policy") -> RepeatedRefusals.Key {
        RepeatedRefusals.Key(process: process, door: nil, reason: reason)
    }

    private func entry(_ process: Int32) -> AuditLog.Entry {
        let caller = Caller(
            process: ClientProcess(id: process, user: 0), access: .none, groups: [], purpose: .reveal)
        return AuditLog.Entry(.refused, error: "policy", by: caller, at: start)
    }

    @Test func `the first refusal has a line at once, and the others one with their number after a minute`() {
        var refusals = RepeatedRefusals()
        #expect(refusals.note(key(1), at: start) { entry(1) }?.count == nil)
        for second in 1...50 { #expect(refusals.note(key(1), at: start + Double(second)) { entry(1) } == nil) }
        #expect(refusals.due(at: start + 59).isEmpty)
        let due = refusals.due(at: start + 60)
        #expect(due.map(\.count) == [50] && due.map(\.pid) == [1])
        #expect(due.first?.time == AuditLog.Entry.text(start + 50))
        // A new minute begins with a line of its own.
        #expect(refusals.due(at: start + 200).isEmpty)
        #expect(refusals.note(key(1), at: start + 200) { entry(1) } != nil)
    }

    @Test func `another reason or process has a line of its own, and a single refusal only one`() {
        var refusals = RepeatedRefusals()
        #expect(refusals.note(key(1), at: start) { entry(1) } != nil)
        #expect(refusals.note(key(1, "other"), at: start) { entry(1) } != nil)
        #expect(refusals.note(key(2), at: start) { entry(2) } != nil)
        #expect(refusals.due(at: start + 60).isEmpty)
    }

    @Test func `a program that starts processes without end has a bounded number of lines`() {
        var refusals = RepeatedRefusals()
        let firsts = (1...10_000).compactMap { number in
            refusals.note(key(number), at: start + Double(number) / 1000) { entry(number) }
        }
        #expect(firsts.count == RepeatedRefusals.mostKeys)
        let due = refusals.due(at: start + 80)
        #expect(due.map(\.count) == [10_000 - RepeatedRefusals.mostKeys] && due[0].pid == 0 && due[0].executable == nil)
    }

    @Test func `a clock that is set back ends the minute, and so does the agent's end`() {
        var refusals = RepeatedRefusals()
        for _ in 0..<3 { _ = refusals.note(key(1), at: start) { entry(1) } }
        #expect(refusals.due(at: start - 86_400).map(\.count) == [2])
        for _ in 0..<3 { _ = refusals.note(key(1), at: start) { entry(1) } }
        #expect(refusals.due(at: start, all: true).map(\.count) == [2])
    }
}
