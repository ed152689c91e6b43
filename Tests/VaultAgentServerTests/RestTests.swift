// SPDX-License-Identifier: Apache-2.0
import CLinux
import Foundation
import Glibc
import TestSupport
import Testing
import Vault
import VaultAgent

/// The memory of an agent that rests.
struct RestTests {
    /// The resident pages of files, in KiB.
    private static func code() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssFile:") })
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    }

    @Test func `an agent that has unmapped its code serves as before`() async {
        await #expect(processExitsWith: .success) {
            let agent = try TestAgent()
            let client = try agent.unlocked()
            try client.add(.generic("before"))
            let before = try RestTests.code()
            clinux_release_code()
            let after = try RestTests.code()
            #expect(after < before / 2)
            try client.add(.generic("after"))
            #expect(try client.copyMatching(Query(.genericPassword)).count == 2)
        }
    }
}
