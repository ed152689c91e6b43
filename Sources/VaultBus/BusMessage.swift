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

    /// Returns whether the message is a given signal, from a sender and object.
    ///
    /// - Parameter sender: a unique name, for which the bus vouches.
    package func isSignal(_ signal: BusMember, from sender: String, at path: String) -> Bool {
        // The names are valid for the duration of the calls, those of the message for its lifetime.
        let isSignal = unsafe signal.interface.withCString { interface in
            unsafe signal.name.withCString { unsafe cbus_is_signal(message, interface, $0) }
        }
        guard isSignal > 0, let from = unsafe cbus_sender(message), let at = unsafe cbus_path(message) else {
            return false
        }
        return unsafe String(cString: from) == sender && String(cString: at) == path
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

    package func flag() throws(BusError) -> Bool {
        var flag: CInt = 0
        guard unsafe cbus_read(message, CChar(ascii: "b"), &flag) > 0 else { throw .malformed }
        return flag != 0
    }

    /// Reads a number of type `u`.
    package func number() throws(BusError) -> UInt32 {
        var number: UInt32 = 0
        guard unsafe cbus_read(message, CChar(ascii: "u"), &number) > 0 else { throw .malformed }
        return number
    }

    /// Reads a number of type `t`.
    package func longNumber() throws(BusError) -> UInt64 {
        var number: UInt64 = 0
        guard unsafe cbus_read(message, CChar(ascii: "t"), &number) > 0 else { throw .malformed }
        return number
    }

    /// Reads a descriptor, which belongs to the message and is closed with it.
    package func descriptor() throws(BusError) -> Int32 {
        var descriptor: CInt = -1
        guard unsafe cbus_read(message, CChar(ascii: "h"), &descriptor) > 0 else { throw .malformed }
        return descriptor
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

    /// Reads a dictionary, calling the body for each key.
    ///
    /// - Parameter contents: the types of a key and its value.
    package func dictionary(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError) {
        try array(of: "{\(contents)}") { () throws(BusError) in try within("e", contents, body) }
    }

    package func structure(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError) {
        try within("r", contents, body)
    }

    package func variant(of contents: String, _ body: () throws(BusError) -> Void) throws(BusError) {
        try within("v", contents, body)
    }

    package func skip(_ contents: String) throws(BusError) {
        guard unsafe contents.withCString({ unsafe cbus_skip(message, $0) }) >= 0 else { throw .malformed }
    }

    private func within(
        _ container: Unicode.Scalar, _ contents: String, _ body: () throws(BusError) -> Void
    ) throws(BusError) {
        let entered = unsafe contents.withCString { unsafe cbus_enter(message, CChar(ascii: container), $0) }
        guard entered > 0 else { throw .malformed }
        try body()
        guard unsafe cbus_exit(message) >= 0 else { throw .malformed }
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
