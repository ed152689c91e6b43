// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Testing

@testable import VaultCLI

struct TimeTests {
    @Test func `a program gets a time in UTC to the millisecond, and a log's time is read back`() throws {
        let time = Time(seconds: 0.25)
        #expect(time.text(isForPerson: false) == "2001-01-01T00:00:00.250Z")
        #expect(Time(rfc3339: time.rfc3339)?.rfc3339 == time.rfc3339)
        #expect(Time(rfc3339: "yesterday") == nil)
        let json = try JSONEncoder().encode([time])
        #expect(String(decoding: json, as: UTF8.self) == #"["2001-01-01T00:00:00.250Z"]"#)
        // A year that no calendar has.
        #expect(Time(seconds: 1e300).text(isForPerson: true) == Time(seconds: 1e300).rfc3339)
    }

    @Test func `a person sees local time to the minute, and a pipe the exact time`() throws {
        let shell = try Shell()
        _ = try shell.run(
            """
            chmod 600 pass; vault init --kdf interactive --passphrase-file pass 2>/dev/null
            echo x | vault add s --passphrase-file pass
            """)
        let command = "TZ=AAA-5:30 vault history s --passphrase-file pass"
        let terminal = try PseudoTerminal(["-c", "\(command); \(command) | cat"], in: shell, program: "/bin/bash")
        #expect(terminal.end() == 0)
        let lines = terminal.screen.split(separator: "\r\n").map { $0.split(separator: "\t").map(String.init) }
        #expect(lines.count == 2 && lines.allSatisfy { $0.count > 1 }, "\(terminal.screen)")
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let exact = try format.parse(lines[1][1])
        let local = exact.addingTimeInterval(5.5 * 3600).formatted(format)
        #expect(lines[0][1] == local.prefix(16).replacing("T", with: " "), "\(terminal.screen)")
    }
}
