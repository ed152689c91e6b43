// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials

/// A time of KeePass: RFC 3339 in KDBX 3; in KDBX 4 the seconds since year 1, in base64.
enum KeePassTime {
    private static let secondsBefore1970: Int64 = 62_135_596_800

    /// The attribute with the time of expiry.
    static let expiry = "expires"

    /// Returns whether a text is a time that comes back the same: any other text would be lost as a time.
    static func isTime(_ text: String) -> Bool { date(text)?.formatted(.iso8601) == text }

    static func date(_ text: String) -> Date? { try? Date(KeePassTime.text(text), strategy: .iso8601) }

    static func text(_ text: String) -> String {
        guard !text.contains(":"), let bytes = Data(base64Encoded: text), bytes.count == 8 else { return text }
        let seconds = bytes.reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
        guard (0...secondsBefore1970 * 5).contains(seconds) else { return text }
        return Date(timeIntervalSince1970: Double(seconds - secondsBefore1970)).formatted(.iso8601)
    }
}
