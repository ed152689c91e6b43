// SPDX-License-Identifier: Apache-2.0
import VaultFormat

/// A state on the wire whose numbers can all be set to wrong values.
struct RawState {
    struct Value {
        var log: UInt16 = 0
        var stamp: UInt64 = 9
        var form: UInt8 = 1
        var length: UInt32?
        var bytes: [UInt8]
    }

    struct Field {
        var id: UInt16
        var name: [UInt8] = []
        var count: UInt8?
        var values: [Value]

        init(_ id: UInt16, _ bytes: [UInt8], name: [UInt8] = [], form: UInt8 = 1) {
            (self.id, self.name, values) = (id, name, [Value(form: form, bytes: bytes)])
        }
    }

    /// The excess of the encoded length over the true length.
    var excess: UInt32 = 0
    var id = ReachSamples.itemID.bytes
    var itemClass: UInt8 = 1
    var zero: UInt8 = 0
    var contextCount: UInt16?
    var fieldCount: UInt16?
    var context: [(log: UInt16, stamp: UInt64)] = [(0, 9), (1, 12)]
    var fields = [
        Field(0xF000, [1]), Field(0xF010, ReachSamples.primaryKey.bytes), Field(0xF011, Array("secret".utf8)),
        Field(0xF012, [1]),
    ]
    var rest: [UInt8] = []

    /// Inserts a field at its sorted position.
    mutating func add(_ field: Field) {
        fields.insert(field, at: fields.firstIndex { $0.id > field.id } ?? fields.count)
    }

    var bytes: [UInt8] {
        var output: [UInt8] = []
        output.append(id)
        output += [itemClass, zero]
        output.append(integer: contextCount ?? UInt16(context.count))
        output.append(integer: fieldCount ?? UInt16(fields.count))
        for (log, stamp) in context {
            output.append(integer: log)
            output.append(integer: stamp)
        }
        for field in fields {
            output.append(integer: field.id)
            output += [UInt8(field.name.count)] + field.name + [field.count ?? UInt8(field.values.count)]
            for value in field.values {
                output.append(integer: value.log)
                output.append(integer: value.stamp)
                output.append(value.form)
                output.append(integer: value.length ?? UInt32(value.bytes.count))
                output += value.bytes
            }
        }
        output += rest
        var head: [UInt8] = []
        head.append(integer: UInt32(output.count + 4) &+ excess)
        return head + output
    }
}

/// An entry of a log on the wire whose numbers can all be set to wrong values.
struct RawEntry {
    var version: UInt16 = 1
    var kind: UInt8 = 1
    var flags: UInt8 = 0
    var sequence: UInt64 = 2
    var previous = ReachSamples.hash(1)
    /// The counts of tips, trims, closes and logs.
    var counts: [UInt16?] = [nil, nil, nil, nil]
    var itemCount: UInt32?
    var tips = [LogTip(log: ReachSamples.logs[0], device: ReachSamples.name(1), sequence: 1, hash: .zero)]
    var trims = [1, 2].map { LogTrim(log: ReachSamples.logs[$0], base: 2, hash: .zero) }
    var closes = [1, 2].map { LogHead(log: ReachSamples.logs[$0], sequence: 1, hash: .zero) }
    var logs = Array(ReachSamples.logs.prefix(2))
    var items = [RawState()]
    var rest: [UInt8] = []

    var bytes: [UInt8] {
        var output: [UInt8] = []
        output.append(integer: version)
        output += [kind, flags]
        output.append(integer: UInt32(1))
        for first: UInt8 in 1...3 { output.append(ReachSamples.name(first).bytes) }
        output.append(integer: sequence)
        output.append(previous.bytes)
        for number: UInt64 in 1...4 { output.append(integer: number) }
        output.append(ReachSamples.hash(2).bytes)
        for number: UInt64 in 5...6 { output.append(integer: number) }
        let lengths = [tips.count, trims.count, closes.count, logs.count]
        for (count, length) in zip(counts, lengths) { output.append(integer: count ?? UInt16(length)) }
        output.append(integer: itemCount ?? UInt32(items.count))
        for tip in tips {
            output.append(tip.log.bytes)
            output.append(tip.device.bytes)
            output.append(integer: tip.sequence)
            output.append(tip.hash.bytes)
        }
        for (log, number, hash) in trims.map({ ($0.log, $0.base, $0.hash) })
            + closes.map({ ($0.log, $0.sequence, $0.hash) })
        {
            output.append(log.bytes)
            output.append(integer: number)
            output.append(hash.bytes)
        }
        for log in logs { output.append(log.bytes) }
        return output + items.flatMap(\.bytes) + rest
    }
}
