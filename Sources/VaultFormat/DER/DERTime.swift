// SPDX-License-Identifier: Apache-2.0

/// Times of X.690, in the two forms allowed in certificates (RFC 5280, 4.1.2.5): down to the second, in UTC.
enum DERTime {
    /// - Returns: seconds since the beginning of 2001, UTC; `nil` for another type or form, or an impossible day or
    ///   time.
    static func seconds(_ element: DERReader.Element, of bytes: Span<UInt8>) -> Double? {
        let text = bytes.array(element.content)
        let yearDigits = element.tag == DERTag.generalizedTime ? 4 : 2
        guard [DERTag.utcTime, DERTag.generalizedTime].contains(element.tag), text.count == yearDigits + 11,
            text.last == UInt8(ascii: "Z"), text.dropLast().allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        let pairs = stride(from: 0, to: text.count - 1, by: 2).map { Int(text[$0] & 15) * 10 + Int(text[$0 + 1] & 15) }
        // UTCTime covers the years 1950 to 2049.
        let year = yearDigits == 4 ? pairs[0] * 100 + pairs[1] : pairs[0] + (pairs[0] < 50 ? 2000 : 1900)
        let rest = Array(pairs.suffix(5))
        let (month, day, hour, minute, second) = (rest[0], rest[1], rest[2], rest[3], rest[4])
        guard (1...12).contains(month), hour < 24, minute < 60, second < 60 else { return nil }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let months = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (1...months[month - 1]).contains(day) else { return nil }
        let days = daysBefore(year) - daysBefore(2001) + months[..<(month - 1)].reduce(0, +) + day - 1
        return Double(((days * 24 + hour) * 60 + minute) * 60 + second)
    }

    /// The days from the beginning of 400 years before the first year to the beginning of the year, so that no number
    /// is negative.
    private static func daysBefore(_ year: Int) -> Int {
        let years = year + 399
        return years * 365 + years / 4 - years / 100 + years / 400
    }
}
