// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing

@testable import VaultCLI

/// Other programs that a command fails to start.
struct HelperStartTests {
    private static let uses: [@Sendable (Helper) throws -> Void] = [
        { try $0.give([1].span) }, { _ = try $0.answer() }, { try $0.leave([1].span) },
        { try $0.leave(reading: STDIN_FILENO) }, { _ = try $0.announcement(limit: 9) },
        { _ = try $0.beside(input: -1, output: -1) }, { _ = try $0.show([1].span) }, { _ = try $0.run() },
    ]

    @Test func `a helper that does not start leaves no pipe open`() async {
        // In a process of its own, where no other test opens a pipe.
        await #expect(processExitsWith: .success) {
            let before = try openPipes()
            for use in Self.uses {
                guard (try? use(Helper(["/nowhere/program"]))) == nil else { exit(10) }
                guard try openPipes() == before else { exit(11) }
            }
        }
    }
}
