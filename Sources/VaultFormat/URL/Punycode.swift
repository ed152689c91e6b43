// SPDX-License-Identifier: Apache-2.0

/// Encodes host names with characters beyond ASCII, as DNS and browsers write them (RFC 3492).
package enum Punycode {
    private static let (base, least, most, skew, damp): (Int, Int, Int, Int, Int) = (36, 1, 26, 38, 700)

    /// Returns the label in ASCII, without `xn--`.
    ///
    /// - Parameter label: at most 63 characters, so that no number overflows.
    package static func encoded(_ label: [Unicode.Scalar]) -> String {
        var output = String(String.UnicodeScalarView(label.filter(\.isASCII)))
        let basic = output.unicodeScalars.count
        if basic > 0 { output += "-" }
        var (done, bias, delta) = (basic, 72, 0)
        var next = 128
        while done < label.count {
            let least = label.lazy.map { Int($0.value) }.filter { $0 >= next }.min() ?? next
            delta += (least - next) * (done + 1)
            next = least
            for scalar in label {
                if Int(scalar.value) < next { delta += 1 }
                guard Int(scalar.value) == next else { continue }
                append(delta, bias, to: &output)
                bias = adapted(delta, count: done + 1, isFirst: done == basic)
                delta = 0
                done += 1
            }
            delta += 1
            next += 1
        }
        return output
    }

    private static func append(_ delta: Int, _ bias: Int, to output: inout String) {
        var (rest, k) = (delta, base)
        while true {
            let threshold = min(max(k - bias, least), most)
            guard rest >= threshold else { break }
            output.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            k += base
        }
        output.append(digit(rest))
    }

    private static func adapted(_ delta: Int, count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / damp : delta / 2
        delta += delta / count
        var k = 0
        while delta > (base - least) * most / 2 {
            delta /= base - least
            k += base
        }
        return k + (base - least + 1) * delta / (delta + skew)
    }

    /// Returns the digit of a value: a to z for 0 to 25, then 0 to 9.
    private static func digit(_ value: Int) -> Character {
        Character(Unicode.Scalar(UInt8(truncatingIfNeeded: value < 26 ? value + 0x61 : value - 26 + 0x30)))
    }
}
