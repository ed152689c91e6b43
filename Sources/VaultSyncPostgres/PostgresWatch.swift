// SPDX-License-Identifier: Apache-2.0
internal import CPostgres
internal import Dispatch
internal import VaultFormat
internal import VaultSync

/// Notifications of a server about new records, on a separate connection. An exchange every minute detects that the
/// connection has ended.
final class PostgresWatch: RecordWatch {
    /// A descriptor that ends the wait. Closed with its last owner.
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

    private static func listen(_ connection: PostgresConnection, _ bell: Bell, _ gate: HintGate) throws(PostgresError) {
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
    /// - Parameter text: kind, stream and number; any user of the database can send a different text.
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
