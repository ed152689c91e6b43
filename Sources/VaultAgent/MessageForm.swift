// SPDX-License-Identifier: Apache-2.0

/// The encoding of a message or a value: its parts in their order.
package struct MessageForm<Whole>: Sendable {
    fileprivate let write: @Sendable (Whole, inout MessageWriter) -> Void
    fileprivate let read: @Sendable (inout MessageReader) throws(MessageError) -> Whole

    /// - Parameter make: makes the whole of its parts, or throws if they are not those of one.
    package init<each Part: MessageValue>(
        _ make: @escaping @Sendable (repeat each Part) throws(MessageError) -> Whole,
        _ parts: @escaping @Sendable (Whole) -> (repeat each Part)
    ) {
        write = { whole, writer in
            let parts = parts(whole)
            repeat (each parts).write(to: &writer)
        }
        read = { reader throws(MessageError) in try make(repeat try (each Part).read(from: &reader)) }
    }

    /// - Parameter make: returns `nil` if the parts are not those of a whole.
    package init<each Part: MessageValue>(
        checking make: @escaping @Sendable (repeat each Part) -> Whole?,
        _ parts: @escaping @Sendable (Whole) -> (repeat each Part)
    ) {
        self.init(
            { (part: repeat each Part) throws(MessageError) in
                guard let whole = make(repeat each part) else { throw .invalid }
                return whole
            }, parts)
    }
}

/// A message or a value that states its encoding once, for both directions.
package protocol Formed {
    static var form: MessageForm<Self> { get }
}

extension MessageValue where Self: Formed {
    package func write(to writer: inout MessageWriter) { Self.form.write(self, &writer) }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Self { try form.read(&reader) }
}

extension AgentMessage where Self: Formed {
    package func write(to writer: inout MessageWriter) { Self.form.write(self, &writer) }

    package init(from reader: inout MessageReader) throws(MessageError) { self = try Self.form.read(&reader) }
}
