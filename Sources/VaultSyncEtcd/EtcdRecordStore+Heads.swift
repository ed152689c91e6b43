// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import VaultFormat
package import VaultSync

/// The counted heads of large values.
struct BlobHeads {
    var heads: [RecordStream: StreamHead]
    /// The generation of the connection that counted them.
    let generation: UInt64
    let time: ContinuousClock.Instant
}

extension EtcdRecordStore {
    /// The most ranges of one transaction.
    private static let rangesAtOnce = 64
    private static let mostStreams = 1 << 17
    private static let mostParts = 1 << 20
    private static let tries = 4
    /// The time between two counts of large values. Each new connection counts first.
    private static let blobInterval = Duration.seconds(3600)

    package func heads() throws(RecordStoreError) -> [StreamHead] {
        var tries = 0
        while true {
            do throws(EtcdError) { return try headsAndBlobs() } catch {
                tries += 1
                // The cluster's administrator has compacted the history meanwhile.
                guard error == .compacted, tries < Self.tries else { throw error.error(at: connection.name) }
            }
        }
    }

    private func headsAndBlobs() throws(EtcdError) -> [StreamHead] {
        let (lasts, revision) = try lasts()
        var heads: [StreamHead] = []
        for index in stride(from: 0, to: lasts.count, by: Self.rangesAtOnce) {
            heads += try firsts(lasts[index..<min(index + Self.rangesAtOnce, lasts.count)], revision)
        }
        return heads + (try blobHeads(revision))
    }

    /// Returns the last numbers according to the head keys, and the revision of the whole look.
    private func lasts() throws(EtcdError) -> (lasts: [(RecordStream, UInt64)], revision: Int64) {
        var lasts: [(RecordStream, UInt64)] = []
        let revision = try forEachPage(keys.heads, keysOnly: false, revision: nil, most: Self.mostStreams) { pair in
            guard let stream = keys.stream(ofHead: pair.key), let last = EtcdKeys.sequence(ofHead: pair.value) else {
                return
            }
            lasts.append((stream, last))
        }
        return (lasts, revision)
    }

    /// Returns the first record of each stream, and the number of records.
    private func firsts(
        _ lasts: ArraySlice<(RecordStream, UInt64)>, _ revision: Int64
    ) throws(EtcdError) -> [StreamHead] {
        let ranges = lasts.map { keys.records(of: $0.0, from: 1) }
        let gets = ranges.map {
            EtcdRequest.get(EtcdRequest.range($0, limit: 1, keysOnly: true, revision: revision))
        }
        let answer = try connection.answer(.transaction, EtcdRequest.transaction(success: gets))
        let nodes = try answer.ranges(gets.count)
        var heads: [StreamHead] = []
        for (index, (stream, last)) in lasts.enumerated() {
            let page = try answer.range(nodes[index], of: ranges[index], limit: 1)
            // A head whose records are gone does not count.
            guard let key = page.pairs.first?.key, let first = keys.sequence(of: key, in: stream) else { continue }
            heads.append(StreamHead(stream, first: first, last: max(first, last), count: page.count))
        }
        return heads
    }

    // MARK: Large values

    private func blobHeads(_ revision: Int64) throws(EtcdError) -> [StreamHead] {
        let generation = connection.generation
        let known = blobs.withLock { $0 }
        if let known, known.generation == generation, known.time.duration(to: .now) < Self.blobInterval {
            return known.heads.values.sorted { $0.stream < $1.stream }
        }
        let time = ContinuousClock.now
        var heads: [RecordStream: StreamHead] = [:]
        _ = try forEachPage(
            keys.records(of: .blob), keysOnly: true, revision: revision, most: Self.mostParts
        ) { pair in
            if let address = keys.address(of: pair.key, of: .blob) { heads.count(address) }
        }
        // The counts lack changes that this process has made during the look.
        blobs.withLock { $0 = BlobHeads(heads: heads, generation: generation, time: time) }
        return heads.values.sorted { $0.stream < $1.stream }
    }

    func forgetBlobs() { blobs.withLock { $0 = nil } }

    /// Counts a part that this process has stored.
    func noteBlob(_ address: RecordAddress) { blobs.withLock { $0?.heads.count(address) } }

    // MARK: Pages

    /// Reads a whole range at one revision.
    ///
    /// - Parameters:
    ///   - revision: `nil` reads the current one.
    ///   - most: the limit of the number of keys.
    /// - Returns: the revision that was read.
    private func forEachPage(
        _ keys: EtcdKeyRange, keysOnly: Bool, revision: Int64?, most: Int, _ take: (EtcdAnswer.Pair) -> Void
    ) throws(EtcdError) -> Int64 {
        var (range, revision, seen) = (keys, revision, 0)
        while true {
            let request = EtcdRequest.range(
                range, limit: Self.longestPage, keysOnly: keysOnly, revision: revision)
            let answer = try connection.answer(.range, request)
            let page = try answer.range(answer.root, of: range, limit: Self.longestPage)
            for pair in page.pairs { take(pair) }
            seen += page.pairs.count
            // The answer to a look at an older revision names the current one in its header.
            let found = if let revision { revision } else { try answer.revision() }
            revision = found
            guard page.hasMore, let last = page.pairs.last else { return found }
            guard seen < most else { throw .answerTooLong }
            range.begin(after: last.key)
        }
    }
}

extension [RecordStream: StreamHead] {
    fileprivate mutating func count(_ address: RecordAddress) {
        let (stream, sequence) = (address.stream, address.sequence)
        let known = self[stream] ?? StreamHead(stream, first: sequence, last: sequence, count: 0)
        self[stream] = StreamHead(
            stream, first: Swift.min(known.first, sequence), last: Swift.max(known.last, sequence),
            count: (known.count ?? 0) + 1)
    }
}
