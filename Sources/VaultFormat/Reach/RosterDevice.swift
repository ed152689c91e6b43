// SPDX-License-Identifier: Apache-2.0

/// The rights of a device.
package enum DeviceRole: UInt8, CaseIterable, Sendable {
    /// May write, and change the roster.
    case owner = 1
    case writer
    /// May only read: its entries are refused.
    case reader
    /// May admit the machine on which the recovery code is typed.
    case recovery
}

/// A device in the roster.
package struct RosterDevice: Hashable, Sendable {
    package var id: DeviceID
    /// Ed25519.
    package var signingKey: Bytes32
    /// X25519.
    package var boxKey: Bytes32
    package var role: DeviceRole
    /// 1 to 255 bytes without control characters.
    package var name: String

    package init(id: DeviceID, signingKey: Bytes32, boxKey: Bytes32, role: DeviceRole, name: String) {
        (self.id, self.signingKey, self.boxKey, self.role, self.name) = (id, signingKey, boxKey, role, name)
    }

    /// Whether the name is valid for a device.
    package static func isName(_ name: String) -> Bool { ValueFields.isName(name) }

    init(parsing reader: inout SpanReader, of body: Span<UInt8>) throws(FormatError) {
        id = try reader.sixteen(of: body, .device)
        signingKey = try reader.thirtyTwo(of: body, .device)
        boxKey = try reader.thirtyTwo(of: body, .device)
        guard let role = DeviceRole(rawValue: try reader.integer(UInt8.self, of: body, .device)) else {
            throw .invalid(.device)
        }
        self.role = role
        name = try reader.name(of: body, .device)
        guard RosterDevice.isName(name) else { throw .invalid(.device) }
    }

    func append(to output: inout [UInt8]) throws(FormatError) {
        guard RosterDevice.isName(name) else { throw .invalid(.device) }
        output.append(id.bytes)
        output.append(signingKey.bytes)
        output.append(boxKey.bytes)
        output += [role.rawValue, UInt8(clamping: name.utf8.count)]
        output += name.utf8
    }
}
