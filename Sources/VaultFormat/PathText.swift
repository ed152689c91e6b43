// SPDX-License-Identifier: Apache-2.0

// Paths and names that programs compare byte by byte. Swift compares characters: a slash with a combining mark is not a
// slash, and two spellings of one character are equal.

extension StringProtocol {
    /// The parts between slashes.
    package func pathComponents(omittingEmpty: Bool = true) -> [String] {
        utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: omittingEmpty)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether both have the same bytes.
    package func isSameBytes(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether the path leads to the directory or to a place below it.
    package func isPath(atOrBelow directory: String) -> Bool {
        let parents = directory.pathComponents()
        return pathComponents().prefix(parents.count).elementsEqual(parents) { $0.isSameBytes(as: $1) }
    }
}
