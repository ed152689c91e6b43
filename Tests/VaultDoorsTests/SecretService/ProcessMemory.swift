// SPDX-License-Identifier: Apache-2.0
import Foundation

/// The readable memory of a process. For a non-dumpable process only root can read it.
struct ProcessMemory {
    private let id: Int32

    init(_ id: Int32) { self.id = id }

    /// Returns the names of the texts that are found.
    func finds(_ wanted: [String: [UInt8]]) throws -> Set<String> {
        let maps = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(id)/maps")).readToEnd() ?? Data()
        let memory = open("/proc/\(id)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw CocoaError(.fileReadNoPermission) }
        defer { close(memory) }
        var found: Set<String> = []
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            guard fields.count >= 2, fields[1].hasPrefix("r"), !line.contains("[v") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { Int(String($0), radix: 16) }
            guard bounds.count == 2 else { continue }
            found.formUnion(try Self.search(memory, bounds[0]..<bounds[1], wanted))
        }
        return found
    }

    private static let part = 4 << 20
    /// The overlap of consecutive parts, in bytes; no searched text is longer.
    private static let overlap = 64

    private typealias Find = @convention(c) (UnsafeRawPointer, Int, UnsafeRawPointer, Int) -> UnsafeRawPointer?
    /// memmem of the C library, which Swift does not import: any other search takes minutes.
    private static let find = unsafeBitCast(dlsym(nil, "memmem"), to: Find.self)

    private static func search(
        _ memory: Int32, _ range: Range<Int>, _ wanted: [String: [UInt8]]
    ) throws -> Set<String> {
        var (found, start): (Set<String>, Int) = ([], range.lowerBound)
        var bytes = [UInt8](repeating: 0, count: part)
        while start < range.upperBound {
            let count = pread(memory, &bytes, min(part, range.upperBound - start), start)
            // Memory that the kernel cannot read here is unreadable for every other process.
            guard count > 0 else {
                start += 4096
                continue
            }
            for (name, text) in wanted where find(bytes, count, text, text.count) != nil { found.insert(name) }
            start += count < part ? count : part - overlap
        }
        return found
    }
}

/// A secret of given length, made of 16 unique bytes, and the traces that reveal its presence.
struct MarkedSecret {
    let name: String
    let bytes: [UInt8]
    private let mark: [UInt8]

    init(_ name: String, count: Int) {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        let mark = (0..<16).map { _ in letters.randomElement() ?? 0 }
        (self.name, self.mark) = (name, mark)
        bytes = (0..<count).map { mark[$0 % 16] }
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Each half, and the whole in other programs' encodings.
    var traces: [String: [UInt8]] {
        var traces = [
            "\(name)": Array(mark[0..<8]), "\(name), second half": Array(mark[8..<16]),
            "\(name), UTF-16": mark.flatMap { [$0, 0] },
            "\(name), hexadecimal": Array(mark.map { String($0, radix: 16) }.joined().utf8),
        ]
        // Behind one or two other bytes, base64 encodes the same bytes differently.
        for offset in 0..<3 {
            traces["\(name), base64 \(offset)"] = Array(Data(mark[offset..<offset + 12]).base64EncodedString().utf8)
        }
        return traces
    }
}
