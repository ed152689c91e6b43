// SPDX-License-Identifier: Apache-2.0
import TestSupport
import VaultFormat

/// The parsers of the format, selected by the first byte of an input: an accepted input is written again byte for byte.
enum FuzzedFormat: UInt8, CaseIterable {
    case header, slot, mark, frameHead, metadata, attributes, padding
    case rosterRecord, logRecord, logEntry, rosterEntry, joinRequest, joinGrant, itemClock, conflictMark
    case certificate, name
    case cbor, authenticatorData, pkcs8, creationOptions, requestOptions
    case securityKey, url

    /// The targets that accept parts of a vault's file.
    static let ofVaults = allCases.prefix { $0.rawValue <= padding.rawValue }

    /// The initial inputs: the parts of every vector.
    static var seeds: [[UInt8]] {
        let vaults = Vectors.names("vaults", suffix: "").compactMap { try? Vectors.bytes($0) }
        let records = (try? ReachSamples.all().map { [$0.target.rawValue] + $0.bytes }) ?? []
        let others =
            FuzzedFormat.certificates.map { [certificate.rawValue] + $0 }
            + FuzzedFormat.names.map { [name.rawValue] + $0 } + FuzzedFormat.ofPasskeys
            + FuzzedFormat.ofURLs
            + [[securityKey.rawValue, 1, 1, 16, 0] + [UInt8](repeating: 7, count: 48)]
        return records + others
            + vaults.flatMap { vault in
                zip(allCases, [(0, 4096), (256, 256), (4096, 4096), (12288, 8192)]).map { target, part in
                    [target.rawValue] + vault.dropFirst(part.0).prefix(part.1)
                }
            }
    }

    /// Returns `false` if an accepted input differs from its encoding.
    static func holds(_ input: [UInt8]) -> Bool {
        guard let first = input.first else { return true }
        let target = allCases[Int(first) % allCases.count]
        return target.holds(Array(input.dropFirst()))
    }

    private func holds(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .header:
            // The magic and the lengths are supplied, so that a mutation passes those checks.
            guard let header = try? Header(parsing: bytes.span) else { return true }
            return bytes.starts(with: header.encoded())
        case .slot:
            guard let slot = try? KeySlot(parsing: bytes.span) else { return true }
            var output: [UInt8] = []
            slot.append(to: &output)
            return output == bytes
        case .mark:
            guard let mark = try? CommitMark(parsing: bytes.span) else { return true }
            let written = mark.encoded()
            return bytes.starts(with: written)
        case .frameHead:
            guard let head = try? FrameHead(parsing: bytes.span, available: bytes.count) else { return true }
            var written: [UInt8] = []
            head.append(to: &written)
            return bytes.starts(with: written)
        case .metadata: return holdsMetadata(bytes)
        case .attributes:
            guard let attributes = try? EncodedAttributes(parsing: bytes, bytes.indices) else { return true }
            let again = EncodedAttributes(attributes.values, user: attributes.user)
            // Fields of a newer version are kept unchanged, outside the values.
            return again.bytes == bytes || again.keepingUnknown(of: attributes).bytes == bytes
                || !isCanonical(attributes)
        case .padding:
            guard let content = try? Padding.content(of: bytes.span, minimum: Layout.valueMinimum) else { return true }
            var output: [UInt8] = []
            Padding.append(bytes[content].span, minimum: Layout.valueMinimum, to: &output)
            return output == bytes
        case .rosterRecord: return holdsRecord(bytes, .roster)
        case .logRecord: return holdsRecord(bytes, .log)
        case .certificate: return holdsCertificate(bytes)
        case .name: return holdsName(bytes)
        case .cbor, .authenticatorData, .pkcs8, .creationOptions, .requestOptions: return holdsPasskey(bytes)
        case .securityKey:
            guard let credential = try? SecurityKeyCredential(parsing: bytes.span) else { return true }
            return credential.encoded == bytes
        case .url: return holdsURL(bytes)
        default: return holdsReplication(bytes)
        }
    }

    private func holdsRecord(_ bytes: [UInt8], _ kind: RecordKind) -> Bool {
        guard let record = try? SealedRecord(parsing: bytes, kind) else { return true }
        let seals = (0..<record.sealCount).compactMap { record.seal(at: $0).map { Array(bytes[$0]) } }
        let farewells = (0..<record.farewellCount).compactMap { record.farewell(at: $0).map { Array(bytes[$0]) } }
        let plain = try? SealedRecord.plainPart(kind, epoch: record.epoch, seals: seals, farewells: farewells)
        return plain == Array(bytes[record.plainPart]) && record.box.upperBound == bytes.count
    }

    private func holdsReplication(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .logEntry:
            guard let entry = try? LogEntry(parsing: bytes.span).map({ Array(bytes[$0]) }) else { return true }
            return (try? entry.pieces(\.count).flat) == bytes && entry.encodedLength(\.count) == bytes.count
        case .rosterEntry:
            guard let entry = try? RosterEntry(parsing: bytes.span).map({ Array(bytes[$0]) }) else { return true }
            return (try? entry.pieces().flat) == bytes && entry.encodedLength == bytes.count
        case .joinRequest:
            guard let request = try? JoinRequest(parsing: bytes.span) else { return true }
            return (try? request.encoded()) == bytes
        case .joinGrant:
            guard let grant = try? JoinGrant(parsing: bytes.span).map({ Array(bytes[$0]) }) else { return true }
            return (try? grant.pieces().flat) == bytes && grant.encodedLength == bytes.count
        case .itemClock:
            guard let clock = try? ItemClock(parsing: bytes.span) else { return true }
            return (try? clock.encoded()) == bytes
        default:
            guard let mark = try? ConflictMark(parsing: bytes.span) else { return true }
            return mark.encoded == bytes
        }
    }

    private func holdsMetadata(_ bytes: [UInt8]) -> Bool {
        var reader = ByteReader(bytes)
        guard let metadata = try? FrameMetadata(parsing: &reader) else { return true }
        var output: [UInt8] = []
        FrameMetadata.appendHead(
            generation: metadata.generation, sequence: metadata.sequence, operationCount: metadata.operationCount,
            to: &output)
        for _ in 0..<metadata.operationCount {
            guard let operation = try? Operation(parsing: &reader) else { return true }
            operation.append(to: &output)
        }
        return bytes.starts(with: output) && output.count + reader.remaining == bytes.count
    }

    /// Canonically equivalent strings are the same key in Swift's dictionaries, and two different names in the file.
    private func isCanonical(_ attributes: EncodedAttributes) -> Bool {
        var names = 0
        attributes.forEach { tag, _, _ in if tag == .user { names += 1 } }
        return names == attributes.user.count
    }
}
