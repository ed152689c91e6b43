// SPDX-License-Identifier: Apache-2.0
internal import VaultCrypto
internal import VaultFormat

extension Salvager {
    /// The number of bytes that one thread verifies at a time.
    private static let partLength = 512 << 10
    /// The number of parts that are verified while as much is written.
    private static let partsAtOnce = NewFile.groupLength / partLength

    /// Writes what is left of each item. The next values are verified while the previous ones are written.
    mutating func copyValues(of histories: [[Operation]], to copy: inout NewFile) throws(StorageError) {
        var parts = Salvager.parts(of: histories)[...]
        var rest: [Rest] = []
        repeat {
            let next = Array(parts.prefix(Salvager.partsAtOnce))
            parts = parts.dropFirst(next.count)
            var failure: StorageError?
            let verified = self.rest(of: next) {
                do throws(StorageError) {
                    for item in rest {
                        for (operation, box) in item.records { try copy.append(operation.encoded(), box: box) }
                    }
                } catch { failure = error }
            }
            if let failure { throw failure }
            rest = []
            for part in verified { rest += try part.get() }
            for item in rest {
                if item.isWhole { result.whole += 1 }
                if let damage = item.damage { result.damaged.append(damage) }
            }
        } while !rest.isEmpty
    }

    private static func parts(of histories: [[Operation]]) -> [ArraySlice<[Operation]>] {
        var parts: [ArraySlice<[Operation]>] = []
        var (start, length) = (0, 0)
        for (index, versions) in histories.enumerated() {
            length += versions.reduce(0) { $0 + Layout.operationLength + Int($1.value?.length ?? 0) }
            guard length >= partLength || index == histories.count - 1 else { continue }
            parts.append(histories[start...index])
            (start, length) = (index + 1, 0)
        }
        return parts
    }

    /// The rest of an item.
    private struct Rest: Sendable {
        /// The records of the new vault, with the kept older versions.
        var records: [(operation: Operation, box: [UInt8])] = []
        var isWhole = false
        var damage: (operation: Operation, loss: Salvage.Loss)?
    }

    private func rest(of parts: [ArraySlice<[Operation]>], beside other: () -> Void) -> [Result<[Rest], StorageError>] {
        Parallel.map(parts.count, atLeast: 2) { number in
            var values = ValueReader(file)
            do throws(StorageError) {
                var all: [Rest] = []
                for versions in parts[number] { all.append(try rest(of: versions, &values)) }
                return .success(all)
            } catch { return .failure(error) }
        } beside: {
            other()
        }
    }

    private func rest(of versions: [Operation], _ values: inout ValueReader) throws(StorageError) -> Rest {
        var rest = Rest()
        // Only versions kept on purpose: an older version that merely was not compacted away is no longer part of the
        // vault.
        for version in versions where version.kind == .past {
            if let box = try wholeBox(of: version, &values) { rest.records.append((version, box)) }
        }
        guard var last = versions.last, last.kind == .put else { return rest }
        if let box = try wholeBox(of: last, &values) {
            rest.isWhole = last.itemClass != nil
            rest.records.append((last, box))
            return rest
        }
        for older in versions.dropLast().reversed() where older.value != nil && older.valueVersion < last.valueVersion {
            guard older.protection == last.protection, let box = try wholeBox(of: older, &values) else { continue }
            rest.damage = (last, .newestValue)
            (last.value, last.valueVersion) = (older.value, older.valueVersion)
            last.attributes = last.attributes.takingFields(of: older.attributes)
            rest.records.append((last, box))
            return rest
        }
        rest.damage = (last, .value)
        (last.value, last.valueVersion) = (nil, 0)
        last.attributes = last.attributes.takingFields(of: EncodedAttributes())
        rest.records.append((last, []))
        return rest
    }

    /// Nonce and box of a value that opens; empty if there is none; `nil` if it was changed or is missing.
    func wholeBox(of operation: Operation, _ values: inout ValueReader) throws(StorageError) -> [UInt8]? {
        guard let value = operation.value else { return [] }
        guard let box = try values.box(at: value) else { return nil }
        guard isOwn(operation) else {
            let (first, last) = (Int(value.offset), Int(value.offset) + Int(value.length) - 1)
            return wholeValues.contains { $0.contains(first) && $0.contains(last) } ? box : nil
        }
        let key = try keys.itemKey(
            operation.id, version: operation.valueVersion, protection: operation.protection, device: device)
        let nonce = box.span.extracting(0..<Layout.nonceLength)
        return SecretBox.opens(box.span.extracting(Layout.nonceLength..<box.count), nonce: nonce, key: key) ? box : nil
    }
}
