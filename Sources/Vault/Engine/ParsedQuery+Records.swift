// SPDX-License-Identifier: Apache-2.0
internal import VaultFormat
internal import VaultStorage

// Comparison of a query with encoded records.

extension ParsedQuery {
    // MARK: Comparing

    /// - Parameter record: an encoded record.
    func matches(_ record: Span<UInt8>) -> Bool {
        guard Operation.itemClass(of: record) == itemClass, reference == nil || Operation.id(of: record) == reference
        else { return false }
        let attributes = record.extracting(Operation.attributes(of: record))
        // A single pass over the record's attributes: there may be many records to compare.
        var (rest, isOther) = (filters.count, false)
        var (isTombstone, isSynchronizable, group) = (false, false, 0..<0)
        let (tombstone, synchronizable) = (ParsedQuery.tombstone, ParsedQuery.synchronizable)
        let (accessGroup, accessControl) = (ParsedQuery.accessGroup, ParsedQuery.accessControl)
        EncodedAttributes.visit(attributes) { tag, encodedKind, payload in
            if let filter = filters.first(where: { $0.tag == tag }) {
                let key = keys.span.extracting(filter.key)
                rest -= 1
                isOther = !MatchKey.isKey(key, of: encodedKind, attributes.extracting(payload), kind: filter.kind)
            }
            switch tag {
            case tombstone: isTombstone = EncodedAttributes.isOne(encodedKind, payload, in: attributes)
            case synchronizable: isSynchronizable = EncodedAttributes.isOne(encodedKind, payload, in: attributes)
            case accessGroup: group = payload
            case .shadow: isOther = true
            case accessControl where leavesOutProtected:
                isOther = AccessControl.asksForPresence(attributes.array(payload), itemClass)
            default: break
            }
            return !isOther
        }
        guard !isOther, matchesTombstones || !isTombstone, matchesSynchronizable || !isSynchronizable else {
            return false
        }
        // An item without the attribute is in the unnamed group.
        let own = attributes.extracting(group)
        if let groups, !groups.contains(where: { $0.span.elementsEqual(own) }) { return false }
        if rest > 0, !matchesWithoutAttributes(record) { return false }
        return matchesRest(attributes)
    }

    private static let tombstone = Attribute.tombstone.tag
    private static let synchronizable = Attribute.synchronizable.tag
    private static let accessGroup = Attribute.accessGroup.tag
    private static let accessControl = Attribute.accessControl.tag

    /// Whether the record satisfies the filters for which it has no attribute.
    private func matchesWithoutAttributes(_ record: Span<UInt8>) -> Bool {
        let attributes = record.extracting(Operation.attributes(of: record))
        for filter in filters {
            if let tag = filter.tag, EncodedAttributes.payload(of: tag, in: attributes) != nil { continue }
            guard let value = filter.attribute.field(of: record) ?? filter.attribute.absentValue else { return false }
            var key: [UInt8] = []
            MatchKey.append(filter.kind, value, to: &key)
            guard key.span.elementsEqual(keys.span.extracting(filter.key)) else { return false }
        }
        return true
    }

    /// Checks the conditions that are not attributes of the class.
    private func matchesRest(_ attributes: Span<UInt8>) -> Bool {
        for (wanted, value) in userFilters {
            var isHere = false
            EncodedAttributes.visitUser(attributes) { name, range in
                // Strings are compared by their bytes: canonically equivalent strings are different values.
                if name == wanted { isHere = Array(value.utf8).span.elementsEqual(attributes.extracting(range)) }
            }
            guard isHere else { return false }
        }
        if let host = hostOrSubdomain {
            guard let server = Attribute.server.text(in: attributes),
                server.utf8.elementsEqual(host.utf8)
                    || server.utf8.reversed().starts(with: ("." + host).utf8.reversed())
            else { return false }
        }
        guard face != nil || words != nil else { return true }
        let itemFace = ItemFace(Item(itemClass, only: EncodedAttributes(checked: attributes)))
        return face?.isMet(by: itemFace) ?? true && words?.areIn(SearchedText(itemFace)) ?? true
    }

    // MARK: Finding

    /// The matching records in the order of their creation, up to the limit.
    func find(in records: VaultStore, _ index: ItemIndex) throws(VaultError) -> [Record] {
        let maximum = limit.maximum
        guard maximum > 0 else { return [] }
        if maximum == 1 { return try first(in: records, index).map { [$0] } ?? [] }
        // Encoded matches are sorted, since records are large to move.
        var matching: [Match] = []
        forEachMatch(in: records, index) { matching.append($0) }
        if matching.count > 1 {
            // An index chain has the newest first: reversed, it is almost sorted.
            matching.reverse()
            matching.sort { $0.ordinal < $1.ordinal }
        }
        var found: [Record] = []
        found.reserveCapacity(min(matching.count, maximum))
        for match in matching {
            guard found.count < maximum else { break }
            let record = Record(checked: match.encoded.span)
            if try !records.isAbsentHere(record) { found.append(record) }
        }
        return found
    }

    private struct Match {
        let ordinal: UInt64
        let encoded: ArraySlice<UInt8>
    }

    private func forEachMatch(in records: VaultStore, _ index: ItemIndex, _ body: (Match) -> Void) {
        for place in candidates(in: records, index) {
            guard let encoded = records.encodedRecord(at: place), matches(encoded.span) else { continue }
            body(Match(ordinal: Operation.ordinal(of: encoded.span), encoded: encoded))
        }
    }

    /// The oldest matching record that is not absent here.
    private func first(in records: VaultStore, _ index: ItemIndex) throws(VaultError) -> Record? {
        var absent: UInt64?
        while true {
            var best: Match?
            forEachMatch(in: records, index) { match in
                guard absent.map({ $0 < match.ordinal }) ?? true else { return }
                if match.ordinal < best?.ordinal ?? .max { best = match }
            }
            guard let best else { return nil }
            let record = Record(checked: best.encoded.span)
            if try !records.isAbsentHere(record) { return record }
            absent = best.ordinal
        }
    }

    /// Attributes that nearly every item shares: an index over them would return nearly everything.
    private static let unselective: Set<Attribute> = [
        .accessGroup, .accessible, .synchronizable, .tombstone, .modificationDate, .creationDate,
    ]

    private func candidates(in records: VaultStore, _ index: ItemIndex) -> Places {
        if let reference { return Places(records.place(of: reference)) }
        if case .hosts(let hosts)? = face { return Places(index.places(ofHosts: hosts, in: records)) }
        if case .program(let wanted)? = face, let places = index.places(ofProgram: wanted, itemClass, in: records) {
            return Places(places)
        }
        let primaryKey = Attribute.primaryKey(of: itemClass)
        if filters.count(where: { primaryKey.contains($0.attribute) }) == primaryKey.count {
            var hash = index.primaryKeyHash(of: itemClass)
            for filter in filters where primaryKey.contains(filter.attribute) {
                hash.combine(filter.attribute, keys.span.extracting(filter.key))
            }
            return index.candidates(hash, in: records).places
        }
        var best: Candidates?
        func offer(_ candidates: Candidates) { if candidates.count < best?.count ?? .max { best = candidates } }
        for filter in filters where !ParsedQuery.unselective.contains(filter.attribute) {
            offer(index.candidates(filter.attribute, keys.span.extracting(filter.key), itemClass, in: records))
        }
        if case .title(let title)? = face { offer(index.candidates(title: title, itemClass, in: records)) }
        for (name, value) in userFilters { offer(index.candidates(user: name, value, itemClass, in: records)) }
        if best == nil {
            for filter in filters where filter.attribute.isEncoded {
                offer(index.candidates(filter.attribute, keys.span.extracting(filter.key), itemClass, in: records))
            }
        }
        return best?.places ?? Places(0..<records.recordEnd)
    }
}

extension Attribute {
    /// The value of an attribute that has its own field in a record.
    fileprivate func field(of record: Span<UInt8>) -> EncodedValue? {
        switch self {
        case .accessible: .string(Operation.protection(of: record).rawValue)
        case .creationDate: .date(Operation.created(of: record))
        case .modificationDate: .date(Operation.modified(of: record))
        default: nil
        }
    }

    func text(in attributes: Span<UInt8>) -> String? {
        // A number is not text, whatever its bytes spell.
        guard let (encodedKind, range) = EncodedAttributes.payload(of: tag, in: attributes), encodedKind <= 2,
            let text = try? UTF8Span(validating: attributes.extracting(range))
        else { return nil }
        return String(copying: text)
    }
}

extension Record {
    func text(of attribute: Attribute) -> String? { attribute.text(in: attributes.bytes.span) }

    var isTombstone: Bool { attributes.isOne(Attribute.tombstone.tag) }

    var isSynchronizable: Bool { attributes.isOne(Attribute.synchronizable.tag) }

    /// Whether the item is in the group; an item without the attribute is in the unnamed group.
    func isInGroup(_ name: [UInt8]) -> Bool {
        guard let (_, range) = attributes.payload(of: Attribute.accessGroup.tag) else { return name.isEmpty }
        return attributes.bytes.span.extracting(range).elementsEqual(name.span)
    }
}
