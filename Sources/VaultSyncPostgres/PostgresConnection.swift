// SPDX-License-Identifier: Apache-2.0
internal import CPostgres
internal import Glibc
internal import VaultSync

/// How long a server is waited for.
package struct PostgresPatience: Sendable {
    /// Until it lets a user in, for each of its addresses.
    package var connecting: Duration = .seconds(10)
    /// Until more comes, or it takes more.
    package var answering: Duration = .seconds(30)
    /// Until an exchange is done, which no server stretches by a byte now and then.
    package var exchanging: Duration = .seconds(600)

    package init() {}
}

/// A connection to a server: one exchange at a time, each with an end. After one that did not come to its end the
/// connection is of no use any more.
///
/// Unchecked: one thread at a time has it, as its owner's lock says.
@safe final class PostgresConnection: @unchecked Sendable {
    private let connection: OpaquePointer
    private let patience: PostgresPatience
    private(set) var isUsable = true
    /// How many bytes the server has said since this side began to ask, or to listen.
    private var taken = 0

    /// In bytes: more than that no answer has, nor what comes unasked before it does.
    private static let longestExchange = 128 << 20

    /// In bytes: small steps go together.
    private static let mostQueued = 64 << 10

    /// - Parameter connection: that has let the user in.
    /// - Throws: what became of ``PostgresStatement/settings``.
    init(_ connection: OpaquePointer, _ patience: PostgresPatience) throws(PostgresError) {
        (unsafe self.connection, self.patience) = (unsafe connection, patience)
        guard unsafe cpostgres_begin(connection) != 0 else { throw .lost("the connection cannot be used") }
        try exchangeAll([.statement(.settings, []), .end])
    }

    deinit { unsafe cpostgres_close(connection) }

    // MARK: Exchanges

    /// Sends all steps at once, and takes the answers.
    ///
    /// - Parameters:
    ///   - outcomes: what became of each of them, also where an error is thrown.
    ///   - take: is lent each row of the statement with that number.
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
            // What is not sent yet stays in memory.
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
                // The end of a transaction itself can fail, such as a commit on a full disk.
                case CPOSTGRES_REFUSED:
                    let refusal = unsafe Self.refusal(result)
                    throw unsafe cpostgres_is_open(connection) != 0
                        ? .refused(refusal) : .lost("the connection has ended")
                default: throw .malformed
                }
            }
        }
        // Any user of the database can say something, and any server.
        _ = notifications()
        isUsable = true
    }

    /// As ``exchange(_:_:_:)``; throws the first refusal.
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
            // The byte behind the last keeps the address of an empty value from being null.
            let bytes = values.flatMap(\.bytes) + [0]
            let (types, lengths) = (values.map(\.type.rawValue), values.map { CInt(clamping: $0.bytes.count) })
            // libpq copies the values, which lie one behind the other.
            isQueued = unsafe bytes.withUnsafeBytes { bytes in
                var starts: [UnsafePointer<CChar>?] = unsafe []
                var offset = 0
                for value in values {
                    unsafe starts.append(
                        bytes.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self))
                    offset += value.bytes.count
                }
                return unsafe cpostgres_send(
                    connection, statement.text, CInt(values.count), types, starts, lengths) != 0
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
            // The end of an answer comes once.
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
        // What ends a connection comes as a refusal of the statement.
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
            // Where that fails the next result says why.
            if try !take() { break }
        }
        return unsafe cpostgres_next(connection)
    }

    /// Takes what comes meanwhile: a server may answer before it has read everything.
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

    /// Takes what has come.
    ///
    /// - Returns: false when the connection has failed.
    private func take() throws(PostgresError) -> Bool {
        taken += unsafe Int(cpostgres_waiting(connection))
        guard taken <= Self.longestExchange else { throw .malformed }
        return unsafe cpostgres_take(connection) != 0
    }

    private func wait(for events: CInt, until end: ContinuousClock.Instant) throws(PostgresError) -> CInt {
        let patience = min(patience.answering, end - .now)
        // Something comes all the time from a server that does not want to end.
        guard patience > .zero else { throw .lost("the server does not come to an end") }
        let ready = unsafe cpostgres_wait(connection, events, -1, patience.milliseconds)
        guard ready >= 0 else { throw .lost("the connection has ended") }
        guard ready > 0 else { throw .lost("the server does not go on") }
        return ready
    }

    // MARK: Between exchanges

    /// Whether the server has not ended the connection, as far as can be seen without asking it.
    func isAlive() -> Bool {
        guard isUsable else { return false }
        taken = 0
        // A server that has so much to say unasked is none.
        for _ in 0..<64 {
            guard unsafe cpostgres_wait(connection, CPOSTGRES_WANTS_INPUT, -1, 0) == CPOSTGRES_WANTS_INPUT else {
                return unsafe cpostgres_is_open(connection) != 0
            }
            guard (try? take()) == true else { return false }
            // Reads what it says: that it shuts down.
            _ = unsafe cpostgres_is_busy(connection)
            guard unsafe cpostgres_is_open(connection) != 0 else { return false }
        }
        return false
    }

    /// Waits until something comes, or another descriptor can be read.
    ///
    /// - Returns: whether the other one can be read.
    /// - Throws: when the connection has ended.
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

    /// What other connections have said since.
    func notifications() -> [String] {
        var found: [String] = []
        // Texts of its own are shorter; another's is cut off, and means nothing then.
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
            guard let start = text.baseAddress else { return }
            while unsafe cpostgres_notification(connection, start, 128) != 0 {
                found.append(unsafe String(cString: start))
            }
        }
        return found
    }

    // MARK: Texts

    /// What libpq says of a failure.
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
        // It ends with a zero byte, perhaps far away.
        let bytes = unsafe UnsafeRawBufferPointer(start: text, count: strnlen(text, 2048))
        return unsafe String(decoding: bytes, as: UTF8.self)
    }
}

extension PostgresRefusal {
    /// Of SQLSTATE.
    static func isDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
    }
}

extension Duration {
    /// Not negative, and no more than poll(2) takes.
    var milliseconds: CInt { CInt(clamping: max(0, Int64((self / .milliseconds(1)).rounded(.up)))) }
}
