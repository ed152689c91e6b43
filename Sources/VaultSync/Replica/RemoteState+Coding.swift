// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat

// `version u64, log 16, acknowledged u64, lastSync u64, { kind u8, stream 16, sequence u64 }*`
extension RemoteState {
    func encoded() -> [UInt8] {
        var output: [UInt8] = []
        output.append(integer: UInt64(1))
        output.append((log ?? .zero).bytes)
        output.append(integer: acknowledged)
        output.append(integer: lastSync)
        for (stream, last) in seen.sorted(by: { $0.key < $1.key }) {
            output.append(stream.kind.rawValue)
            output.append(stream.name.bytes)
            output.append(integer: last)
        }
        return output
    }

    init?(_ bytes: [UInt8]) {
        self.init()
        let (span, head, entry) = (bytes.span, 40, 25)
        guard bytes.count >= head, (bytes.count - head) % entry == 0, span.integer(at: 0, as: UInt64.self) == 1 else {
            return nil
        }
        let name = Bytes16(span.extracting(8..<24))
        log = name == .zero ? nil : name
        acknowledged = span.integer(at: 24)
        lastSync = span.integer(at: 32)
        for start in stride(from: head, to: bytes.count, by: entry) {
            guard let kind = RecordKind(rawValue: bytes[start]) else { return nil }
            seen[RecordStream(kind, Bytes16(span.extracting(start + 1..<start + 17)))] = span.integer(at: start + 17)
        }
    }
}
