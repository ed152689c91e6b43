// SPDX-License-Identifier: Apache-2.0
internal import CBus
internal import Glibc

/// A method or a signal of an interface.
package struct BusMember: Hashable, Sendable {
    package let interface: String
    package let name: String

    package init(interface: String, name: String) { (self.interface, self.name) = (interface, name) }
}

/// A connection to a D-Bus message bus, by sd-bus. Calls are synchronous, one at a time, each with a timeout.
@safe package final class BusConnection {
    let bus: OpaquePointer
    private let patience: Duration

    /// - Parameters:
    ///   - address: a D-Bus address, such as `unix:path=/run/user/1000/bus`; `nil` for the session bus, from
    ///     `$DBUS_SESSION_BUS_ADDRESS` or `$XDG_RUNTIME_DIR`.
    ///   - patience: the timeout of a call.
    /// - Throws: `.noLibrary`, `.unreachable`.
    package init(_ address: String?, patience: Duration) throws(BusError) {
        guard cbus_load() >= 0 else { throw .noLibrary }
        var bus: OpaquePointer?
        // Without an error the pointer is not null.
        let result = unsafe cbus_open(address, &bus)
        guard result >= 0, let bus = unsafe bus else { throw .unreachable }
        (unsafe self.bus, self.patience) = (unsafe bus, patience)
        let deadline = ContinuousClock.now + patience
        do throws(BusError) {
            while unsafe cbus_is_ready(bus) <= 0 {
                if case .late = try step(until: deadline) { throw BusError.unreachable }
            }
        } catch { throw .unreachable }
    }

    deinit { unsafe cbus_close(bus) }

    /// Makes a method call, to be sent later.
    package func newCall(_ method: BusMember, at path: String, of destination: String) throws(BusError) -> BusMessage {
        try unsafe BusMessage.made {
            unsafe cbus_new_call(bus, &$0, destination, path, method.interface, method.name)
        }
    }

    /// Calls a method and waits for the answer.
    ///
    /// - Parameters:
    ///   - destination: a name on the bus.
    ///   - isSecret: whether the call or the answer contains a secret: libsystemd wipes both.
    ///   - write: appends the arguments.
    package func call(
        _ method: BusMember, at path: String, of destination: String, isSecret: Bool = false,
        _ write: (BusMessage) throws(BusError) -> Void = { _ throws(BusError) in }
    ) throws(BusError) -> BusMessage {
        let call = try newCall(method, at: path, of: destination)
        if isSecret { try call.markSecret() }
        try write(call)
        var answer: OpaquePointer?
        var name = ""
        // The buffer has room for any D-Bus name.
        let called = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CBUS_NAME_LENGTH)) {
            unsafe $0.initialize(repeating: 0)
            let called = unsafe cbus_call(bus, call.message, patience.microseconds, &answer, $0.baseAddress)
            if let start = $0.baseAddress { name = unsafe String(cString: start) }
            return called
        }
        guard called >= 0, let answer = unsafe answer else { throw BusError(called, name: name) }
        let message = unsafe BusMessage(answer)
        if isSecret { try message.markSecret() }
        return message
    }

    /// Subscribes to the signals of a D-Bus match rule, which ``signal(until:_:)`` returns.
    package func match(_ rule: String) throws(BusError) {
        let result = unsafe cbus_match(bus, rule)
        guard result >= 0 else { throw BusError(result) }
    }

    /// Returns the first signal that `isWanted` accepts, and drops earlier ones; `nil` on timeout. Another process can
    /// send signals unasked, so the caller must compare the sender too.
    package func signal(
        until deadline: ContinuousClock.Instant, _ isWanted: (BusMessage) throws(BusError) -> Bool
    ) throws(BusError) -> BusMessage? {
        while true {
            switch try step(until: deadline) {
            case .message(let message): if try isWanted(message) { return message }
            case .progress: continue
            case .late: return nil
            }
        }
    }

    private enum Step {
        case message(BusMessage), progress, late
    }

    private func step(until deadline: ContinuousClock.Instant) throws(BusError) -> Step {
        let rest = deadline - ContinuousClock.now
        guard rest > .zero else { return .late }
        var message: OpaquePointer?
        let progress = unsafe cbus_process(bus, &message)
        guard progress >= 0 else { throw .lost }
        if let message = unsafe message { return .message(unsafe BusMessage(message)) }
        if progress > 0 { return .progress }
        let result = unsafe cbus_wait(bus, rest.microseconds)
        guard result >= 0 || result == -EINTR else { throw .lost }
        return .progress
    }
}

extension Duration {
    /// The duration in microseconds: at least one, up to some decades.
    fileprivate var microseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(max(0, min(seconds, 1 << 30))) * 1_000_000 + UInt64(max(0, attoseconds / 1_000_000_000_000)) + 1
    }
}
