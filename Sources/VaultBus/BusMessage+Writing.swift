// SPDX-License-Identifier: Apache-2.0
internal import CBus
package import VaultCrypto

/// Properties of an object, in their order.
package typealias BusProperties = [(name: String, value: BusValue)]

/// A value of a message.
package indirect enum BusValue: Sendable {
    case text(String)
    case flag(Bool)
    case number(UInt32)
    case longNumber(UInt64)
    case path(String)
    case paths([String])
    case texts([String: String])
    case bytes([UInt8])
    /// Bytes in a message that libsystemd wipes.
    case secret(Secret)
    case variant(BusValue)
    /// A dictionary of names and variants.
    case properties(BusProperties)
    case array(of: String, [BusValue])
    case structure([BusValue])
    case entry([BusValue])

    package var signature: String {
        switch self {
        case .text: "s"
        case .flag: "b"
        case .number: "u"
        case .longNumber: "t"
        case .path: "o"
        case .paths: "ao"
        case .texts: "a{ss}"
        case .bytes, .secret: "ay"
        case .variant: "v"
        case .properties: "a{sv}"
        case .array(let contents, _): "a" + contents
        case .structure(let values): "(" + BusValue.signature(values) + ")"
        case .entry(let values): "{" + BusValue.signature(values) + "}"
        }
    }

    fileprivate static func signature(_ values: [BusValue]) -> String { values.map(\.signature).joined() }

    fileprivate var hasSecret: Bool {
        switch self {
        case .secret: true
        case .array(_, let values), .structure(let values), .entry(let values): values.contains(where: \.hasSecret)
        default: false
        }
    }
}

extension BusMessage {
    /// The maximum size of an array, in bytes: D-Bus allows 64 MiB, and the bus disconnects the sender of a larger one.
    package static let longestArray = 60 << 20

    /// Appends all values of a message. libsystemd does not wipe the old buffer of a message that grew, so secrets are
    /// filled in once the rest is written.
    package func append(_ values: [BusValue]) throws(BusError) {
        let hasSecrets = values.contains(where: \.hasSecret)
        if hasSecrets { try markSecret() }
        for value in values { try append(value) }
        guard hasSecrets else { return }
        try check(unsafe cbus_fill_rooms(message))
        for value in values { try fill(value) }
    }

    package func append(_ text: String) throws(BusError) { try append("s", text) }

    package func append(path: String) throws(BusError) { try append("o", path) }

    private func append(_ type: Unicode.Scalar, _ text: String) throws(BusError) {
        // The text ends with a zero byte, and is copied.
        try check(unsafe cbus_append(message, CChar(ascii: type), text))
    }

    package func append(_ number: UInt32) throws(BusError) { try append("u", number: number) }

    package func append(_ flag: Bool) throws(BusError) { try append("b", number: CInt(flag ? 1 : 0)) }

    private func append(_ type: Unicode.Scalar, number: some FixedWidthInteger & BitwiseCopyable) throws(BusError) {
        var number = number
        // The number is copied.
        try check(unsafe cbus_append(message, CChar(ascii: type), &number))
    }

    package func append(bytes: Span<UInt8>) throws(BusError) {
        // The bytes are copied.
        try check(unsafe bytes.withUnsafeBytes { unsafe cbus_append_bytes(message, $0.baseAddress, $0.count) })
    }

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
        case .longNumber(let number): try append("t", number: number)
        case .path(let path): try append(path: path)
        case .paths(let paths): try append(paths: paths)
        case .texts(let texts):
            try append(.array(of: "{ss}", texts.map { .entry([.text($0.key), .text($0.value)]) }))
        case .bytes(let bytes): try append(bytes: bytes.span)
        case .secret(let secret): try check(unsafe cbus_append_room(message, secret.count))
        case .variant(let value): try append(variantOf: value)
        case .properties(let properties): try append(properties)
        case .array(let contents, let values): try append(values, inside: "a", contents)
        case .structure(let values): try append(values, inside: "r", BusValue.signature(values))
        case .entry(let values): try append(values, inside: "e", BusValue.signature(values))
        }
    }

    package func append(variantOf value: BusValue) throws(BusError) {
        try append([value], inside: "v", value.signature)
    }

    package func append(variantOf text: String) throws(BusError) { try append(variantOf: .text(text)) }

    package func append(variantOf bytes: Span<UInt8>) throws(BusError) {
        try inside("v", "ay") { () throws(BusError) in try append(bytes: bytes) }
    }

    /// Appends a dictionary of names and variants.
    package func append(_ properties: BusProperties) throws(BusError) {
        try append(.array(of: "{sv}", properties.map { .entry([.text($0.name), .variant($0.value)]) }))
    }

    package func appendStructure(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError) {
        try inside("r", contents, body)
    }

    private func append(_ values: [BusValue], inside container: Unicode.Scalar, _ contents: String) throws(BusError) {
        try inside(container, contents) { () throws(BusError) in for value in values { try append(value) } }
    }

    private func inside(
        _ container: Unicode.Scalar, _ contents: String, _ body: () throws(BusError) -> Void
    ) throws(BusError) {
        try check(unsafe cbus_open_container(message, CChar(ascii: container), contents))
        try body()
        try check(unsafe cbus_close_container(message))
    }

    /// Reads a value of the written message, and fills its secrets in.
    private func fill(_ value: BusValue) throws(BusError) {
        switch value {
        case .secret(let secret):
            try secret.withBytes { bytes throws(BusError) in
                // The bytes are copied.
                try check(unsafe bytes.withUnsafeBytes { unsafe cbus_fill(message, $0.baseAddress, $0.count) })
            }
        case .array(let contents, let values):
            var rest = values[...]
            try array(of: contents) { () throws(BusError) in if let next = rest.popFirst() { try fill(next) } }
        case .structure(let values): try fill(values, within: "r")
        case .entry(let values): try fill(values, within: "e")
        default: try skip(value.signature)
        }
    }

    private func fill(_ values: [BusValue], within container: Unicode.Scalar) throws(BusError) {
        try within(container, BusValue.signature(values)) { () throws(BusError) in
            for value in values { try fill(value) }
        }
    }
}
