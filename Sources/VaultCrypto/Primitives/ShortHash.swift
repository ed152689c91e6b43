// SPDX-License-Identifier: Apache-2.0
import CSodium

/// SipHash-2-4 with a key per process, for tables in memory: an attacker who chooses attributes cannot choose
/// collisions.
///
/// The corresponding C function is `crypto_shorthash`.
package struct ShortHash: Sendable {
    private let key: [16 of UInt8]

    package init() {
        precondition(Sodium.ready)
        var key = [16 of UInt8](repeating: 0)
        for half in 0..<2 {
            let word = Sodium.randomWord()
            for byte in 0..<8 { key[8 * half + byte] = UInt8(truncatingIfNeeded: word >> UInt64(8 * byte)) }
        }
        self.key = key
    }

    package func hash(_ bytes: Span<UInt8>) -> UInt64 {
        var output: UInt64 = 0
        unsafe withUnsafeMutablePointer(to: &output) { output in
            unsafe output.withMemoryRebound(to: UInt8.self, capacity: 8) { output in
                unsafe bytes.withPointer { bytes, count in
                    unsafe key.span.withPointer { key, _ in
                        _ = unsafe crypto_shorthash(output, bytes, UInt64(count), key)
                    }
                }
            }
        }
        return output
    }
}
