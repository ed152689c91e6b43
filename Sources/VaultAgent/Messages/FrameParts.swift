// SPDX-License-Identifier: Apache-2.0

/// Cuts what is too much for one frame into parts.
package enum FrameParts {
    /// The most that the elements of one part may take. An element alone may take more: an item's attributes have
    /// 64 KiB at most, which fits into a frame beside anything else.
    private static let longest = 128 << 10

    /// - Parameter size: what an element takes of a frame, in bytes.
    /// - Returns: one part at least.
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
