// SPDX-License-Identifier: Apache-2.0
internal import CPostgres
internal import Glibc
internal import VaultSync

/// The timeouts for a server.
package struct PostgresPatience: Sendable {
    /// The longest wait for admission, at each address.
    package var connecting: Duration = .seconds(10)
    /// The longest wait for input, or for room for output.
    package var answering: Duration = .seconds(30)
    /// The longest exchange, so that a server cannot extend one by a byte now and then.
    package var exchanging: Duration = .seconds(600)

    package init() {}
}

/// A connection to a server, with one exchange at a time. After an incomplete exchange the connection is unusable.
///
/// Unchecked: one thread at a time has the connection, by its owner's lock.
@safe final class PostgresConnection: @unchecked Sendable {
    private let connection: OpaquePointer
    private let patience: PostgresPatience
    private(set) var isUsable = true
    /// Whether the server has prepared ``PostgresStatement/prepared``.
    private var hasPrepared = false
    /// The number of bytes from the server since the start of this exchange or wait.
    private var taken = 0

    /// The most bytes of an answer, including notifications before it.
    private static let longestExchange = 128 << 20

    /// The size in bytes at which queued steps are flushed.
    private static let mostQueued = 64 << 10

    /// - Parameter connection: a connection that has admitted the user.
    /// - Throws: an error of ``PostgresStatement/settings``.
    init(_ connection: OpaquePointer, _ patience: PostgresPatience) throws(PostgresError) {
        (unsafe self.connection, self.patience) = (unsafe connection, patience)
        guard unsafe cpostgres_begin(connection) != 0 else { throw .lost("the connection cannot be used") }
        let preparations = PostgresStatement.prepared.compactMap(\.preparation).map { PostgresStep.statement($0, []) }
        var outcomes: [PostgresOutcome] = []
        try exchange([.statement(.settings, []), .end] + preparations + [.end], &outcomes)
        if case .refused(let refusal) = outcomes[0] { throw .refused(refusal) }
        // Refused without the table or without a role. The statements then say so themselves where they are used.
        hasPrepared = outcomes[2...].allSatisfy { $0 == .done }
    }

    deinit { unsafe cpostgres_close(connection) }

    // MARK: Exchanges

    /// Sends all steps at once, and takes the answers.
    ///
    /// - Parameters:
    ///   - outcomes: the outcome of each step, even if an error is thrown.
    ///   - take: receives each row, with the number of its statement.
    func exchange(
        _ steps: [PostgresStep], _ outcomes: inout [PostgresOutcome],
        _ take: (Int, PostgresRow) throws(PostgresError) -> Void = { _, _ throws(PostgresError) in }
    ) throws(PostgresError) {
        outcomes = [PostgresOutcome](repeating: .open, count: steps.count)
        guard isUsable else { throw .lost("the connection has ended") }
        (isUsable, taken) = (false, 0)
        let end = ContinuousClock.now + patience.exchanging
        var queued = 0
        for step in steps {
            try send(step)
            queued += step.length
            // Unsent data stays in memory.
            guard queued >= Self.mostQueued else { continue }
            queued = 0
            if unsafe cpostgres_flush(connection) != 0 { try flush(until: end) }
        }
        try flush(until: end)
        for (index, step) in steps.enumerated() {
            switch step {
            case .statement(let statement, _):
                outcomes[index] = try answer(to: statement, until: end) { row throws(PostgresError) in
                    try take(index, row)
                }
            case .end:
                guard let result = unsafe try next(until: end) else { throw .malformed }
                defer { unsafe cpostgres_release(result) }
                switch unsafe cpostgres_kind(result) {
                case CPOSTGRES_ENDED: outcomes[index] = .done
                // The end of a transaction can fail itself, such as a commit on a full disk.
                case CPOSTGRES_REFUSED:
                    let refusal = unsafe Self.refusal(result)
                    throw unsafe cpostgres_is_open(connection) != 0
                        ? .refused(refusal) : .lost("the connection has ended")
                default: throw .malformed
                }
            }
        }
        // Notifications are dropped: any user of the database, and any server, can send them.
        _ = notifications()
        isUsable = true
    }

    /// Does the work of ``exchange(_:_:_:)``, and throws the first refusal.
    func exchangeAll(
        _ steps: [PostgresStep],
        _ take: (Int, PostgresRow) throws(PostgresError) -> Void = { _, _ throws(PostgresError) in }
    ) throws(PostgresError) {
        var outcomes: [PostgresOutcome] = []
        try exchange(steps, &outcomes, take)
        for outcome in outcomes { if case .refused(let refusal) = outcome { throw .refused(refusal) } }
    }

    private func send(_ step: PostgresStep) throws(PostgresError) {
        let isQueued: Bool
        switch step {
        case .end: isQueued = unsafe cpostgres_end(connection) != 0
        case .statement(let statement, let values):
            // An additional byte, so that the address of an empty last value is not null.
            let bytes = values.flatMap(\.bytes) + [0]
            let (types, lengths) = (values.map(\.type.rawValue), values.map { CInt(clamping: $0.bytes.count) })
            // libpq copies the values, which lie one after the other.
            isQueued = unsafe bytes.withUnsafeBytes { bytes in
                var starts: [UnsafePointer<CChar>?] = unsafe []
                var offset = 0
                for value in values {
                    unsafe starts.append(
                        bytes.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self))
                    offset += value.bytes.count
                }
                let count = CInt(values.count)
                if hasPrepared, let name = statement.name {
                    return unsafe cpostgres_send_prepared(connection, name, count, starts, lengths) != 0
                }
                return unsafe cpostgres_send(connection, statement.text, count, types, starts, lengths) != 0
            }
        }
        guard isQueued else { throw unsafe .lost(Self.error(of: connection)) }
    }

    private func answer(
        to statement: PostgresStatement, until end: ContinuousClock.Instant,
        _ take: (PostgresRow) throws(PostgresError) -> Void
    ) throws(PostgresError) -> PostgresOutcome {
        var outcome = PostgresOutcome.open
        unsafe cpostgres_by_rows(connection)
        while let result = unsafe try next(until: end) {
            defer { unsafe cpostgres_release(result) }
            // An answer has only one end.
            guard outcome == .open else { throw .malformed }
            switch unsafe cpostgres_kind(result) {
            case let kind where kind == CPOSTGRES_ROW || kind == CPOSTGRES_ROWS:
                let rows = unsafe cpostgres_row_count(result)
                guard unsafe PostgresRow.hasColumns(statement.columns, result) else { throw .malformed }
                for row in 0..<max(rows, 0) { try take(unsafe PostgresRow(result, row)) }
                if kind == CPOSTGRES_ROWS { outcome = .done }
            case CPOSTGRES_DONE: outcome = .done
            case CPOSTGRES_SKIPPED: outcome = .skipped
            case CPOSTGRES_REFUSED: outcome = .refused(unsafe Self.refusal(result))
            default: throw .malformed
            }
        }
        // The end of a connection appears as a refusal of the statement.
        guard unsafe cpostgres_is_open(connection) != 0 else {
            if case .refused(let refusal) = outcome, !refusal.state.isEmpty { throw .lost(refusal.words) }
            throw unsafe .lost(Self.error(of: connection))
        }
        if outcome == .open { throw .malformed }
        return outcome
    }

    private func next(until end: ContinuousClock.Instant) throws(PostgresError) -> OpaquePointer? {
        while unsafe cpostgres_is_busy(connection) != 0 {
            _ = try wait(for: CPOSTGRES_WANTS_INPUT, until: end)
            // After a failed read the next result tells the reason.
            if try !take() { break }
        }
        return unsafe cpostgres_next(connection)
    }

    /// Sends everything, and takes input meanwhile: a server may answer before it has read everything.
    private func flush(until end: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            switch unsafe cpostgres_flush(connection) {
            case 0: return
            case 1: break
            default: throw unsafe .lost(Self.error(of: connection))
            }
            let ready = try wait(for: CPOSTGRES_WANTS_INPUT | CPOSTGRES_WANTS_OUTPUT, until: end)
            if ready & CPOSTGRES_WANTS_INPUT != 0, try !take() {
                throw unsafe .lost(Self.error(of: connection))
            }
        }
    }

    /// Reads the available input.
    ///
    /// - Returns: `false` if the connection has failed.
    private func take() throws(PostgresError) -> Bool {
        taken += unsafe Int(cpostgres_waiting(connection))
        guard taken <= Self.longestExchange else { throw .malformed }
        return unsafe cpostgres_take(connection) != 0
    }

    private func wait(for events: CInt, until end: ContinuousClock.Instant) throws(PostgresError) -> CInt {
        let patience = min(patience.answering, end - .now)
        // A server that avoids an end may send something all the time.
        guard patience > .zero else { throw .lost("the server does not come to an end") }
        let ready = unsafe cpostgres_wait(connection, events, -1, patience.milliseconds)
        guard ready >= 0 else { throw .lost("the connection has ended") }
        guard ready > 0 else { throw .lost("the server does not go on") }
        return ready
    }

    // MARK: Between exchanges

    /// Whether the server has not ended the connection, as far as that is visible without a request.
    func isAlive() -> Bool {
        guard isUsable else { return false }
        taken = 0
        // A genuine server does not send this much unasked.
        for _ in 0..<64 {
            guard unsafe cpostgres_wait(connection, CPOSTGRES_WANTS_INPUT, -1, 0) == CPOSTGRES_WANTS_INPUT else {
                return unsafe cpostgres_is_open(connection) != 0
            }
            guard (try? take()) == true else { return false }
            // Processes the input, which may be a shutdown message.
            _ = unsafe cpostgres_is_busy(connection)
            guard unsafe cpostgres_is_open(connection) != 0 else { return false }
        }
        return false
    }

    /// Waits for input, or for input on another descriptor.
    ///
    /// - Returns: whether the other descriptor has input.
    /// - Throws: `.lost` if the connection has ended, `.malformed` after too much input.
    func listen(or other: CInt, for patience: Duration) throws(PostgresError) -> Bool {
        let ready = unsafe cpostgres_wait(connection, CPOSTGRES_WANTS_INPUT, other, patience.milliseconds)
        guard ready >= 0 else { throw .lost("the connection has ended") }
        if ready & CPOSTGRES_OTHER != 0 { return true }
        taken = 0
        if ready & CPOSTGRES_WANTS_INPUT != 0, try !take() {
            throw unsafe .lost(Self.error(of: connection))
        }
        return false
    }

    /// Returns the notifications of other connections since the last call.
    func notifications() -> [String] {
        var found: [String] = []
        // The texts of this program are shorter. A longer one is cut off, and then means nothing.
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
            guard let start = text.baseAddress else { return }
            while unsafe cpostgres_notification(connection, start, 128) != 0 {
                found.append(unsafe String(cString: start))
            }
        }
        return found
    }

    // MARK: Texts

    /// Returns libpq's text about a failure.
    static func error(of connection: OpaquePointer) -> String {
        unsafe RecordStoreError.shown(bounded(cpostgres_error(connection)))
    }

    private static func refusal(_ result: OpaquePointer) -> PostgresRefusal {
        let state = unsafe bounded(cpostgres_state(result))
        let isState = state.utf8.count == 5 && state.utf8.allSatisfy(PostgresRefusal.isDigit)
        let message = unsafe RecordStoreError.shown(bounded(cpostgres_message(result)))
        return PostgresRefusal(state: isState ? state : "", message: message)
    }

    static func bounded(_ text: UnsafePointer<CChar>?) -> String {
        guard let text = unsafe text else { return "" }
        // The zero byte at its end may be far away.
        let bytes = unsafe UnsafeRawBufferPointer(start: text, count: strnlen(text, 2048))
        return unsafe String(decoding: bytes, as: UTF8.self)
    }
}

extension PostgresRefusal {
    /// Whether a byte is a character of SQLSTATE.
    static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
    }
}

extension Duration {
    /// The duration in milliseconds, at least 0 and at most the limit of poll(2).
    var milliseconds: CInt { CInt(clamping: max(0, Int64((self / .milliseconds(1)).rounded(.up)))) }
}
