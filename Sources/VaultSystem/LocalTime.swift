// SPDX-License-Identifier: Apache-2.0
internal import Glibc

/// Times in the time zone of the process, which FoundationEssentials does not know.
package enum LocalTime {
    /// Returns a time to the minute, as `2026-11-28 14:05`; `nil` for one that the calendar does not have.
    ///
    /// - Parameter seconds: the seconds since 1970-01-01T00:00:00Z.
    package static func minute(of seconds: Double) -> String? {
        guard var time = time_t(exactly: seconds.rounded(.down)) else { return nil }
        var parts = unsafe tm()
        // Both arguments live during the call. The name of the zone, a pointer, is not read.
        guard unsafe localtime_r(&time, &parts) != nil else { return nil }
        let (year, month, day) = unsafe (parts.tm_year, parts.tm_mon, parts.tm_mday)
        let (hour, minute) = unsafe (parts.tm_hour, parts.tm_min)
        guard (0...8_099).contains(year) else { return nil }
        return "\(year + 1900)-\(twoDigits(month + 1))-\(twoDigits(day)) \(twoDigits(hour)):\(twoDigits(minute))"
    }

    private static func twoDigits(_ number: Int32) -> String { number < 10 ? "0\(number)" : String(number) }
}
