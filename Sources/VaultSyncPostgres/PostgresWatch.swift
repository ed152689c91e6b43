// SPDX-License-Identifier: Apache-2.0
internal import CPostgres
internal import Dispatch
internal import VaultFormat
internal import VaultSync

/// What a server says of new records, on a connection of its own. An exchange every minute shows that the connection
/// has not ended unnoticed.
final class PostgresWatch: RecordWatch {
    /// Rung when no more is wanted; closed when nobody has it.
    private final class Bell: Sendable {
        let descriptor: CInt

        init() throws(PostgresError) {
            descriptor = cpostgres_bell()
            guard descriptor >= 0 else { throw .lost("out of descriptors") }
        }

        deinit { cpostgres_close_bell(descriptor) }
    }

    private static let interval = Duration.seconds(60)
    private let bell: Bell
    private let gate: HintGate

    init(
        _ remote: RemoteAccess, _ realm: RealmID, _ patience: PostgresPatience,
        _ hint: @escaping @Sendable (RecordHint) -> Void
    ) throws(PostgresError) {
        let (bell, gate) = (try Bell(), HintGate(hint))
        (self.bell, self.gate) = (bell, gate)
        let connection = try PostgresConnection.open(remote, patience)
        try connection.exchangeAll([.statement(.listen(realm.channel), []), .end])
        DispatchQueue(label: "vault.postgres.watch", qos: .utility).async {
            do throws(PostgresError) {
                try Self.listen(connection, bell, gate)
            } catch { gate.pass(.lost(RecordStoreError(error, at: remote.url))) }
        }
    }

    deinit { end() }

    func end() {
        gate.close()
        cpostgres_ring(bell.descriptor)
    }

    private static func listen(
        _ connection: PostgresConnection, _ bell: Bell, _ gate: HintGate
    ) throws(PostgresError) {
        var next = ContinuousClock.now + interval
        while true {
            if try connection.listen(or: bell.descriptor, for: next - .now) { return }
            for text in connection.notifications() { gate.pass(RecordHint(text)) }
            guard next <= .now else { continue }
            try connection.exchangeAll([.end])
            gate.pass(.changed)
            next = .now + interval
        }
    }
}

extension RecordHint {
    /// - Parameter text: kind, stream and number; any user of the database can say something else.
    init(_ text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, let number = UInt8(parts[0]), let kind = RecordKind(rawValue: number),
            let name = Bytes16(text: String(parts[1])), let sequence = UInt64(parts[2]),
            RecordAddress.sequences.contains(sequence)
        else {
            self = .changed
            return
        }
        self = .appended(RecordStream(kind, name), sequence)
    }
}
