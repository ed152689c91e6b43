// SPDX-License-Identifier: Apache-2.0

/// A head that an entry's author had applied, cited by no other head and not yet by its log.
package struct LogTip: Hashable, Sendable {
    /// The maximum number per entry.
    package static let limit = 32
    static let encodedLength = 72

    package var log: LogID
    package var device: DeviceID
    /// From 1, as a record's number.
    package var sequence: UInt64
    package var hash: Bytes32

    package init(log: LogID, device: DeviceID, sequence: UInt64, hash: Bytes32) {
        (self.log, self.device, self.sequence, self.hash) = (log, device, sequence, hash)
    }

    init(parsing reader: inout SpanReader, of body: Span<UInt8>) throws(FormatError) {
        log = try reader.sixteen(of: body, .tips)
        device = try reader.sixteen(of: body, .tips)
        sequence = try reader.integer(UInt64.self, of: body, .tips)
        hash = try reader.thirtyTwo(of: body, .tips)
    }

    func append(to output: inout [UInt8]) {
        output.append(log.bytes)
        output.append(device.bytes)
        output.append(integer: sequence)
        output.append(hash.bytes)
    }

    static func check(_ tips: [LogTip]) throws(FormatError) {
        guard tips.count <= limit else { throw .outOfBounds(.tips) }
        guard tips.allSatisfy({ RecordAddress.sequences.contains($0.sequence) }),
            Set(tips.map(\.log)).count == tips.count
        else {
            throw .invalid(.tips)
        }
    }
}
