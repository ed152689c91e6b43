// SPDX-License-Identifier: Apache-2.0

/// A change of the roster: `type u8, length u32, bytes`.
///
/// - Parameter Secret: the 32 bytes of a key, or their range in the body.
package enum RosterOperation<Secret> {
    /// Founds the realm: `founder 16, recovery device 16, recoveryMAC 32`.
    case genesis(founder: DeviceID, recovery: DeviceID, recoveryMAC: Bytes32)
    /// `deviceID 16, signing key 32, box key 32, role u8, u8 nameLength, name`
    case enrol(RosterDevice)
    /// `deviceID 16, u16 n, { logID 16, sequence u64, hash 32 }*`: the last valid entries of its logs, of different
    /// logs; written in the order of the logs.
    case remove(DeviceID, cuts: [LogHead])
    /// Introduces an epoch key, which the seals contain; the operation has the previous key and the new one's hash:
    /// `32, 32`.
    case epoch(previousKey: Secret, keyHash: Bytes32)
    /// Replaces the recovery code of the genesis: `deviceID 16, recoveryMAC 32`.
    case recovery(DeviceID, recoveryMAC: Bytes32)
}

extension RosterOperation: Equatable where Secret: Equatable {}
extension RosterOperation: Sendable where Secret: Sendable {}

extension RosterOperation {
    static var headLength: Int { 5 }
    static var keyLength: Int { 32 }

    /// The encoded number, by which operations are ordered.
    var type: UInt8 {
        switch self {
        case .genesis: 1
        case .enrol: 2
        case .remove: 3
        case .epoch: 4
        case .recovery: 5
        }
    }

    func map<T, E: Error>(_ body: (Secret) throws(E) -> T) throws(E) -> RosterOperation<T> {
        switch self {
        case .genesis(let founder, let recovery, let mac):
            .genesis(founder: founder, recovery: recovery, recoveryMAC: mac)
        case .enrol(let device): .enrol(device)
        case .remove(let device, let cuts): .remove(device, cuts: cuts)
        case .epoch(let key, let hash): .epoch(previousKey: try body(key), keyHash: hash)
        case .recovery(let device, let mac): .recovery(device, recoveryMAC: mac)
        }
    }

    /// The encoded length in bytes, with the head.
    var encodedLength: Int {
        let content =
            switch self {
            case .genesis, .epoch: 64
            case .enrol(let device): 82 + device.name.utf8.count
            case .remove(_, let cuts): 18 + cuts.count * LogHead.encodedLength
            case .recovery: 48
            }
        return RosterOperation.headLength + content
    }

    func append(to writer: inout BodyWriter<Secret>) throws(FormatError) {
        writer.bytes.append(type)
        try writer.append(count: encodedLength - RosterOperation.headLength, UInt32.self, .rosterOperation)
        switch self {
        case .genesis(let founder, let recovery, let mac):
            writer.bytes.append(founder.bytes)
            writer.bytes.append(recovery.bytes)
            writer.bytes.append(mac.bytes)
        case .enrol(let device): try device.append(to: &writer.bytes)
        case .remove(let device, let cuts):
            writer.bytes.append(device.bytes)
            try writer.append(count: cuts.count, UInt16.self, .cuts)
            for cut in try LogHead.sorted(cuts, .cuts) { cut.append(to: &writer.bytes) }
        case .epoch(let key, let hash):
            writer.append(key)
            writer.bytes.append(hash.bytes)
        case .recovery(let device, let mac):
            writer.bytes.append(device.bytes)
            writer.bytes.append(mac.bytes)
        }
    }

    /// Checks the order: types ascend, and only enrolments and removals may repeat.
    static func check(_ operations: [RosterOperation], _ sequence: UInt64) throws(FormatError) {
        let isRising = zip(operations, operations.dropFirst()).allSatisfy { first, second in
            first.type < second.type || first.type == second.type && (2...3).contains(first.type)
        }
        guard isRising, !operations.isEmpty, (operations.first?.type == 1) == (sequence == 1) else {
            throw .invalid(.rosterOperation)
        }
    }
}

extension RosterOperation where Secret == Range<Int> {
    init(parsing reader: inout SpanReader, of body: Span<UInt8>) throws(FormatError) {
        let type = try reader.integer(UInt8.self, of: body, .rosterOperation)
        let length = Int(try reader.integer(UInt32.self, of: body, .rosterOperation))
        var own = SpanReader(try reader.take(length, .rosterOperation))
        switch type {
        case 1:
            let founder = try own.sixteen(of: body, .rosterOperation)
            let recovery = try own.sixteen(of: body, .rosterOperation)
            self = .genesis(
                founder: founder, recovery: recovery, recoveryMAC: try own.thirtyTwo(of: body, .rosterOperation))
        case 2: self = .enrol(try RosterDevice(parsing: &own, of: body))
        case 3:
            let device = try own.sixteen(of: body, .rosterOperation)
            let count = Int(try own.integer(UInt16.self, of: body, .cuts))
            self = .remove(device, cuts: try LogHead.parse(count, &own, of: body, .cuts))
        case 4:
            let key = try own.take(RosterOperation.keyLength, .rosterOperation)
            self = .epoch(previousKey: key, keyHash: try own.thirtyTwo(of: body, .rosterOperation))
        case 5:
            let device = try own.sixteen(of: body, .rosterOperation)
            self = .recovery(device, recoveryMAC: try own.thirtyTwo(of: body, .rosterOperation))
        default: throw .unsupported(.rosterOperation)
        }
        try own.expectEnd(.rosterOperation)
    }
}
