// SPDX-License-Identifier: Apache-2.0
internal import CBus

/// A value of a property, as a variant.
package enum BusValue: Equatable, Sendable {
    case text(String)
    case flag(Bool)
    case number(UInt32)
    case longNumber(UInt64)
    case paths([String])
    case texts([String: String])
    case path(String)

    package var signature: String {
        switch self {
        case .text: "s"
        case .flag: "b"
        case .number: "u"
        case .longNumber: "t"
        case .paths: "ao"
        case .texts: "a{ss}"
        case .path: "o"
        }
    }
}

extension BusMessage {
    package func append(_ text: String) throws(BusError) { try append("s", text) }

    package func append(path: String) throws(BusError) { try append("o", path) }

    private func append(_ type: Unicode.Scalar, _ text: String) throws(BusError) {
        // The text ends with a zero byte, and is copied.
        try check(unsafe text.withCString { unsafe cbus_append(message, CChar(ascii: type), $0) })
    }

    package func append(_ number: UInt32) throws(BusError) {
        var number = number
        // The number is copied.
        try check(unsafe cbus_append(message, CChar(ascii: "u"), &number))
    }

    package func append(_ number: UInt64) throws(BusError) {
        var number = number
        // The number is copied.
        try check(unsafe cbus_append(message, CChar(ascii: "t"), &number))
    }

    package func append(_ flag: Bool) throws(BusError) {
        var flag: CInt = flag ? 1 : 0
        // The number is copied.
        try check(unsafe cbus_append(message, CChar(ascii: "b"), &flag))
    }

    package func append(bytes: Span<UInt8>) throws(BusError) {
        // The bytes are copied.
        try check(unsafe bytes.withUnsafeBytes { unsafe cbus_append_bytes(message, $0.baseAddress, $0.count) })
    }

    /// Reserves an array of bytes, to be filled in by ``fillRooms(_:)``.
    package func append(room count: Int) throws(BusError) { try check(unsafe cbus_append_room(message, count)) }

    /// Fills secrets into the reserved arrays of a written answer: libsystemd does not wipe the old buffer of a message
    /// that grew. Nothing can be appended afterwards.
    ///
    /// - Parameter body: reads the answer from its beginning, and calls ``fill(_:)`` at each reserved array.
    package func fillRooms(_ body: () throws(BusError) -> Void) throws(BusError) {
        try check(unsafe cbus_fill_rooms(message))
        try body()
    }

    package func fill(_ bytes: Span<UInt8>) throws(BusError) {
        // The bytes are copied.
        try check(unsafe bytes.withUnsafeBytes { unsafe cbus_fill(message, $0.baseAddress, $0.count) })
    }

    /// The maximum size of an array, in bytes: D-Bus allows 64 MiB, and the bus disconnects the sender of a larger one.
    private static let longestArray = 60 << 20

    package func append(paths: some Sequence<String>) throws(BusError) {
        var size = 0
        try inside("a", "o") { () throws(BusError) in
            for path in paths {
                size += path.utf8.count + 8
                guard size <= BusMessage.longestArray else { throw .malformed }
                try append(path: path)
            }
        }
    }

    package func append(_ value: BusValue) throws(BusError) {
        switch value {
        case .text(let text): try append(text)
        case .flag(let flag): try append(flag)
        case .number(let number): try append(number)
        case .longNumber(let number): try append(number)
        case .paths(let paths): try append(paths: paths)
        case .path(let path): try append(path: path)
        case .texts(let texts):
            try inside("a", "{ss}") { () throws(BusError) in
                for (name, text) in texts {
                    try inside("e", "ss") { () throws(BusError) in
                        try append(name)
                        try append(text)
                    }
                }
            }
        }
    }

    package func append(variantOf value: BusValue) throws(BusError) {
        try inside("v", value.signature) { () throws(BusError) in try append(value) }
    }

    package func append(variantOf text: String) throws(BusError) { try append(variantOf: .text(text)) }

    package func append(variantOf bytes: Span<UInt8>) throws(BusError) {
        try inside("v", "ay") { () throws(BusError) in try append(bytes: bytes) }
    }

    /// Appends a dictionary of names and variants.
    package func append(_ properties: [(name: String, value: BusValue)]) throws(BusError) {
        try inside("a", "{sv}") { () throws(BusError) in
            for (name, value) in properties {
                try inside("e", "sv") { () throws(BusError) in
                    try append(name)
                    try append(variantOf: value)
                }
            }
        }
    }

    /// Appends an array, whose elements the body appends.
    package func appendArray(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError) {
        try inside("a", contents, body)
    }

    package func appendStructure(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError) {
        try inside("r", contents, body)
    }

    package func appendEntry(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError) {
        try inside("e", contents, body)
    }

    private func inside(
        _ container: Unicode.Scalar, _ contents: String, _ body: () throws(BusError) -> Void
    ) throws(BusError) {
        try check(unsafe contents.withCString { unsafe cbus_open_container(message, CChar(ascii: container), $0) })
        try body()
        try check(unsafe cbus_close_container(message))
    }
}
