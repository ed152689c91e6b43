// SPDX-License-Identifier: Apache-2.0
internal import CBus
internal import Glibc

/// For a process that serves others: it must not block on the bus, and polls the descriptor instead.
extension BusConnection {
    /// The descriptor for poll(2), to be used with ``events``.
    package var descriptor: Int32 { unsafe cbus_descriptor(bus) }

    /// Whether bytes are pending to be written.
    package var wantsToWrite: Bool { unsafe Int32(cbus_events(bus)) & Int32(POLLOUT) != 0 }

    /// The time until the connection next needs attention without input; `nil` for none.
    package var rest: Duration? {
        let microseconds = unsafe cbus_patience(bus)
        return microseconds == .max ? nil : .microseconds(max(0, microseconds))
    }

    /// The name of this connection, such as `:1.7`.
    package var uniqueName: String? {
        var name: UnsafePointer<CChar>?
        // The name is valid for the lifetime of the connection.
        guard unsafe cbus_unique_name(bus, &name) >= 0, let name = unsafe name else { return nil }
        return unsafe String(cString: name)
    }

    /// Requests a well-known name; `false` if another process owns it.
    package func takeName(_ name: String) throws(BusError) -> Bool {
        let result = unsafe cbus_request_name(bus, name)
        if result == -EEXIST { return false }
        guard result >= 0 else { throw BusError(result) }
        return true
    }

    /// The result of processing the connection once.
    package enum Event {
        case message(BusMessage)
        /// There may be more to process.
        case progress
        case nothing
    }

    package func next() throws(BusError) -> Event {
        var message: OpaquePointer?
        let progress = unsafe cbus_process(bus, &message)
        guard progress >= 0 else { throw .lost }
        if let message = unsafe message { return .message(unsafe BusMessage(message)) }
        return progress > 0 ? .progress : .nothing
    }

    package func send(_ message: BusMessage) throws(BusError) {
        let result = unsafe cbus_send(bus, message.message)
        guard result >= 0 else { throw BusError(result) }
    }

    /// - Parameter destination: the name of a connection; `nil` to broadcast.
    package func signal(
        _ member: BusMember, at path: String, to destination: String? = nil
    ) throws(BusError) -> BusMessage {
        try unsafe BusMessage.made {
            unsafe cbus_new_signal(bus, &$0, destination, path, member.interface, member.name)
        }
    }
}

extension BusMessage {
    /// Makes the answer to this call, without its values.
    package func answer() throws(BusError) -> BusMessage {
        try unsafe BusMessage.made { unsafe cbus_new_answer(message, &$0) }
    }

    /// Makes an error as the answer to this call.
    package func refusal(_ name: String, _ text: String) throws(BusError) -> BusMessage {
        try unsafe BusMessage.made { unsafe cbus_new_error(message, &$0, name, text) }
    }

    /// Takes over a message that libsystemd makes, which copies all texts.
    static func made(_ make: (inout OpaquePointer?) -> CInt) throws(BusError) -> BusMessage {
        var made: OpaquePointer?
        let result = unsafe make(&made)
        guard result >= 0, let made = unsafe made else { throw BusError(result) }
        return unsafe BusMessage(made)
    }

    package var isCall: Bool { unsafe cbus_is_call(message) > 0 }

    package var expectsAnswer: Bool { unsafe cbus_expects_answer(message) > 0 }

    /// The unique name of the sender, as vouched for by the bus.
    package var sender: String? { unsafe text(cbus_sender(message)) }
    package var objectPath: String { unsafe text(cbus_path(message)) ?? "" }
    package var interface: String? { unsafe text(cbus_interface(message)) }
    package var member: String { unsafe text(cbus_member(message)) ?? "" }
    /// The signature of the arguments.
    package var signature: String { unsafe text(cbus_signature(message)) ?? "" }

    private func text(_ text: UnsafePointer<CChar>?) -> String? {
        guard let text = unsafe text else { return nil }
        // The text is valid for the lifetime of the message.
        return unsafe String(cString: text)
    }
}
