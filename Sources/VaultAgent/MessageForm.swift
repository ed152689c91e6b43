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

/// The encoding of one of several cases: its number, and its values in their order.
package struct CaseForm<Number: MessageValue & Hashable & Sendable, Whole>: Sendable {
    package let number: Number
    /// - Returns: `false` for another case.
    fileprivate let write: @Sendable (Whole, inout MessageWriter) -> Bool
    fileprivate let read: @Sendable (inout MessageReader) throws(MessageError) -> Whole

    /// - Parameter parts: returns `nil` for another case.
    package init<each Part: MessageValue>(
        _ number: Number, _ make: @escaping @Sendable (repeat each Part) throws(MessageError) -> Whole,
        _ parts: @escaping @Sendable (Whole) -> (repeat each Part)?
    ) {
        self.number = number
        write = { whole, writer in
            guard let parts = parts(whole) else { return false }
            writer.put(number)
            repeat (each parts).write(to: &writer)
            return true
        }
        read = { reader throws(MessageError) in try make(repeat try (each Part).read(from: &reader)) }
    }
}

extension CaseForm where Whole: Equatable & Sendable {
    package init(_ number: Number, _ whole: Whole) { self.init(number, { whole }) { $0 == whole ? () : nil } }
}

/// A value with several cases, each of which states its encoding once. A case without a number would be written as
/// nothing, which the other side refuses.
package protocol FormedCases: MessageValue {
    associatedtype Number: MessageValue & Hashable & Sendable

    static var cases: [CaseForm<Number, Self>] { get }
}

extension FormedCases {
    package func write(to writer: inout MessageWriter) {
        if !Self.cases.contains(where: { $0.write(self, &writer) }) { assertionFailure("a case without a number") }
    }

    package static func read(from reader: inout MessageReader) throws(MessageError) -> Self {
        let number: Number = try reader.read()
        guard let form = cases.first(where: { $0.number == number }) else { throw .invalid }
        return try form.read(&reader)
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
