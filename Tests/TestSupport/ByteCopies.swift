// SPDX-License-Identifier: Apache-2.0

// Copies of memory. Without optimization, loops over bytes would take most of the time of the simulated disks.
extension [UInt8] {
    /// Appends zeros up to a size.
    package mutating func grow(to size: Int) {
        if count < size { append(contentsOf: [UInt8](repeating: 0, count: size - count)) }
    }

    /// Overwrites the bytes from `offset` on, and appends those beyond the end.
    package mutating func copy(_ bytes: Span<UInt8>, to offset: Int) {
        grow(to: offset + bytes.count)
        unsafe withUnsafeMutableBytes { target in
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: source)
            }
        }
    }
}
