// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials

/// Files of Tests/Vectors.
package enum Vectors {
    /// The path of the vectors, found from this source file: the product does not include them.
    package static var directory: String {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Vectors")
            .path()
    }

    package static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: directory + "/" + name)))
    }

    package static func write(_ bytes: [UInt8], to name: String) throws {
        let url = URL(filePath: directory + "/" + name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
    }

    package static func names(_ folder: String, suffix: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory + "/" + folder)) ?? []
        return names.filter { $0.hasSuffix(suffix) }.sorted().map { folder + "/" + $0 }
    }

    /// Inputs that Scripts/fuzz found in earlier runs.
    package static func fuzzCases(_ target: String) throws -> [[UInt8]] {
        try names("../Fuzzing/Cases/" + target, suffix: "").filter { !$0.hasSuffix(".gitkeep") }.map(bytes)
    }

    /// The lines `name = value` of a file.
    package static func table(_ name: String) throws -> [String: String] {
        var table: [String: String] = [:]
        for line in String(decoding: try bytes(name), as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { table[parts[0].trimmed] = parts[1].trimmed }
        }
        return table
    }

    /// Whether this run rewrites the generated vectors instead of comparing with them.
    package static var isWriting: Bool { ProcessInfo.processInfo.environment["VAULT_WRITE_VECTORS"] != nil }
}

extension Substring {
    fileprivate var trimmed: String {
        String(drop(while: { $0 == " " }).reversed().drop(while: { $0 == " " }).reversed())
    }
}

extension [UInt8] {
    /// Decodes pairs of hexadecimal digits to bytes.
    package init(hexadecimal text: String) {
        var digits: [UInt8] = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map(UInt8.init) }
        if digits.count % 2 != 0 { digits.removeLast() }
        self = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    package var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
