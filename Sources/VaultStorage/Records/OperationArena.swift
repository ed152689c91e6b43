// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

/// Encoded operations stored together in a few large blocks of memory: a million records cost little more than their
/// bytes.
struct OperationArena {
    /// The location of an operation.
    struct Location {
        var chunk: UInt32
        var offset: UInt32

        /// No location.
        static let none = Location(chunk: .max, offset: 0)

        var isNone: Bool { chunk == .max }
    }

    /// The longest operation fits, and the allocator returns blocks of this size to the system.
    private static let chunkLength = 1 << 18

    private var chunks: [[UInt8]] = []
    private(set) var length = 0
    /// Bytes of discarded operations.
    private(set) var waste = 0

    mutating func append(_ operation: Span<UInt8>) -> Location {
        if chunks.last.map({ $0.count + operation.count > OperationArena.chunkLength }) ?? true {
            var chunk: [UInt8] = []
            chunk.reserveCapacity(OperationArena.chunkLength)
            chunks.append(chunk)
        }
        let last = chunks.count - 1
        let location = Location(chunk: UInt32(last), offset: UInt32(chunks[last].count))
        chunks[last].append(operation)
        length += operation.count
        return location
    }

    mutating func discard(_ location: Location) { waste += read(location) { $0.count } }

    func read<R>(_ location: Location, _ body: (Span<UInt8>) -> R) -> R {
        let chunk = chunks[Int(location.chunk)]
        let rest = chunk.span.extracting(Int(location.offset)..<chunk.count)
        return body(rest.extracting(0..<Operation.length(of: rest)))
    }

    func slice(at location: Location) -> ArraySlice<UInt8> {
        let (chunk, start) = (chunks[Int(location.chunk)], Int(location.offset))
        return chunk[start..<start + Operation.length(of: chunk.span.extracting(start..<chunk.count))]
    }

    /// Fills in the location of the operation's value.
    mutating func setOffset(_ offset: UInt64, at location: Location) {
        Operation.setOffset(offset, in: &chunks[Int(location.chunk)], at: Int(location.offset))
    }
}
