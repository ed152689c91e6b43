// SPDX-License-Identifier: Apache-2.0
internal import CBus
package import VaultCrypto
internal import VaultFormat

/// A D-Bus message, written or read front to back. A received message is untrusted, but sd-bus has checked its types,
/// that texts are UTF-8, and that paths are valid.
@safe package final class BusMessage {
    let message: OpaquePointer

    /// - Parameter message: released with the value.
    init(_ message: OpaquePointer) { unsafe self.message = unsafe message }

    deinit { unsafe cbus_release(message) }

    /// Makes libsystemd wipe the message before it frees the memory.
    package func markSecret() throws(BusError) { try check(unsafe cbus_mark_sensitive(message)) }

    func check(_ result: CInt) throws(BusError) {
        guard result >= 0 else { throw BusError(result) }
    }

    // MARK: Header

    /// Returns whether the message is a given signal, from an object of a unique name, for which the bus vouches.
    package func isSignal(_ signal: BusMember, from sender: String, at path: String) -> Bool {
        let isSignal = unsafe cbus_is_signal(message, signal.interface, signal.name) > 0
        return isSignal && self.sender == sender && objectPath == path
    }

    // MARK: Reading

    package func text() throws(BusError) -> String { try text("s") }

    package func path() throws(BusError) -> String { try text("o") }

    private func text(_ type: Unicode.Scalar) throws(BusError) -> String {
        var text: UnsafePointer<CChar>?
        let result = unsafe cbus_read(message, CChar(ascii: type), &text)
        // The text is valid for the lifetime of the message.
        guard result > 0, let text = unsafe text else { throw .malformed }
        return unsafe String(cString: text)
    }

    package func flag() throws(BusError) -> Bool { try number("b") as CInt != 0 }

    /// Reads a number of type `u`.
    package func number() throws(BusError) -> UInt32 { try number("u") }

    /// Reads a descriptor, which belongs to the message and is closed with it.
    package func descriptor() throws(BusError) -> Int32 { try number("h") }

    private func number<N: FixedWidthInteger & BitwiseCopyable>(_ type: Unicode.Scalar) throws(BusError) -> N {
        var number: N = 0
        guard unsafe cbus_read(message, CChar(ascii: type), &number) > 0 else { throw .malformed }
        return number
    }

    /// Lends an array of bytes to the body.
    package func withBytes<R>(_ body: (Span<UInt8>) throws(BusError) -> R) throws(BusError) -> R {
        var start: UnsafeRawPointer?
        var count = 0
        guard unsafe cbus_read_bytes(message, &start, &count) > 0 else { throw .malformed }
        // The bytes are valid for the lifetime of the message; an empty array has no address.
        return try body(unsafe Span(_unsafeBytes: UnsafeRawBufferPointer(start: start, count: count)))
    }

    /// Reads an array, calling the body for each element.
    package func array(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError) {
        try within("a", contents) { () throws(BusError) in
            while try !isAtEnd() { try body() }
        }
    }

    /// Reads a dictionary with these types of a key and its value, calling the body for each key.
    package func dictionary(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError) {
        try array(of: "{\(contents)}") { () throws(BusError) in try within("e", contents, body) }
    }

    package func structure<R>(of contents: String, _ body: () throws(BusError) -> R) throws(BusError) -> R {
        try within("r", contents, body)
    }

    package func variant<R>(of contents: String, _ body: () throws(BusError) -> R) throws(BusError) -> R {
        try within("v", contents, body)
    }

    package func skip(_ contents: String) throws(BusError) {
        guard unsafe cbus_skip(message, contents) >= 0 else { throw .malformed }
    }

    func within<R>(
        _ container: Unicode.Scalar, _ contents: String, _ body: () throws(BusError) -> R
    ) throws(BusError) -> R {
        guard unsafe cbus_enter(message, CChar(ascii: container), contents) > 0 else { throw .malformed }
        let result = try body()
        guard unsafe cbus_exit(message) >= 0 else { throw .malformed }
        return result
    }

    private func isAtEnd() throws(BusError) -> Bool {
        let result = unsafe cbus_is_at_end(message)
        guard result >= 0 else { throw .malformed }
        return result > 0
    }
}

extension CChar {
    init(ascii scalar: Unicode.Scalar) { self = CChar(bitPattern: UInt8(ascii: scalar)) }
}

extension BusMessage {
    /// Reads an array of paths; `nil` if there are more than the limit.
    package func paths(limit: Int) throws(BusError) -> [String]? {
        var paths: [String]? = []
        try array(of: "o") { () throws(BusError) in
            let path = try path()
            if let count = paths?.count, count >= limit { paths = nil }
            paths?.append(path)
        }
        return paths
    }

    /// Reads a dictionary of texts; `nil` if names and values together are longer than the limit.
    package func texts(limit: Int) throws(BusError) -> [String: String]? {
        var (texts, size): ([String: String], Int) = ([:], 0)
        try dictionary(of: "ss") { () throws(BusError) in
            let (name, value) = (try text(), try text())
            size += name.utf8.count + value.utf8.count
            // Excess texts are read, but not kept.
            if size <= limit { texts[name] = value }
        }
        return size <= limit ? texts : nil
    }

    /// Reads a non-secret array of bytes; `nil` if it is longer than the limit.
    package func bytes(limit: Int) throws(BusError) -> [UInt8]? {
        try withBytes { bytes throws(BusError) in bytes.count <= limit ? bytes.array(0..<bytes.count) : nil }
    }

    /// Copies an array of bytes into locked memory; `nil` if it is longer than the limit.
    package func secret(limit: Int) throws(BusError) -> Secret? {
        try withBytes { bytes throws(BusError) in
            guard bytes.count <= limit else { return nil }
            do throws(CryptoError) { return Secret(try SecretBytes(copying: bytes)) } catch {
                throw BusError.cryptography(error)
            }
        }
    }
}
