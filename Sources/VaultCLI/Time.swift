// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials
internal import Glibc
internal import VaultSystem

/// A point in time in a command's output: for programs always in RFC 3339, in UTC and to the millisecond, for a person
/// at a terminal in local time and to the minute.
struct Time: Encodable {
    private let date: Date

    init(_ date: Date) { self.date = date }

    /// - Parameter seconds: the seconds since 2001-01-01T00:00:00Z.
    init(seconds: Double) { date = Date(timeIntervalSinceReferenceDate: seconds) }

    /// Parses a time that a command or a log of this project has written.
    init?(rfc3339 text: String) {
        guard let date = try? Self.format.parse(text) else { return nil }
        self.date = date
    }

    private static let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    var rfc3339: String { date.formatted(Self.format) }

    /// The time for a line of standard output.
    var text: String { text(isForPerson: Terminal.isTerminal(STDOUT_FILENO)) }

    func text(isForPerson: Bool) -> String {
        (isForPerson ? LocalTime.minute(of: date.timeIntervalSince1970) : nil) ?? rfc3339
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rfc3339)
    }
}
