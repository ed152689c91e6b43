// SPDX-License-Identifier: Apache-2.0

/// Splits content that exceeds a frame.
package enum FrameParts {
    /// The most bytes of the elements of one part. A single element may take more: an item's attributes have at most 64
    /// KiB, which fit into a frame beside anything else.
    private static let longest = 128 << 10

    /// - Parameter size: returns the size of an element in a frame, in bytes.
    /// - Returns: at least one part.
    package static func of<Element>(_ elements: [Element], size: (Element) -> Int) -> [[Element]] {
        var parts: [[Element]] = [[]]
        var length = 0
        for element in elements {
            let added = size(element)
            if length + added > longest, parts[parts.count - 1].count > 0 {
                parts.append([])
                length = 0
            }
            parts[parts.count - 1].append(element)
            length += added
        }
        return parts
    }
}
