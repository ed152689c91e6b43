// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Testing

@testable import VaultCLI

/// Other programs that a command fails to start.
struct HelperStartTests {
    private static let uses: [@Sendable (Helper) throws -> Void] = [
        { try $0.give([1].span) }, { _ = try $0.answer() }, { try $0.leave([1].span) },
        { try $0.leave(reading: STDIN_FILENO) }, { _ = try $0.announcement(limit: 9) }, { _ = try $0.beside(limit: 9) },
        { _ = try $0.show([1].span) }, { _ = try $0.run() },
    ]

    @Test func `a helper that does not start leaves no descriptor open`() async {
        // In a process of its own, where no other test opens a descriptor.
        await #expect(processExitsWith: .success) {
            let before = try Self.descriptors()
            for use in Self.uses {
                guard (try? use(Helper(["/nowhere/program"]))) == nil else { exit(10) }
                guard try Self.descriptors() == before else { exit(11) }
            }
        }
    }

    private static func descriptors() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }
}
