// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Testing
import Vault

/// Reading a value never traps and never guesses.
struct SecretValueTests {
    private let all: [SecretValue] = [
        .null, true, 12, .unsigned(.max), 12.0, "12", .data(Data("12".utf8)), .date(Date(timeIntervalSince1970: 12)),
        [1],
        ["a": 1],
    ]

    @Test func `a date as text keeps its milliseconds, and comes back from it`() throws {
        let date = SecretValue.date(Date(timeIntervalSinceReferenceDate: 0.25))
        #expect(date.lenientString == "2001-01-01T00:00:00.250Z")
        #expect(SecretValue.string(date.lenientString ?? "").lenientDate == date.date)
        #expect(SecretValue.date(Date(timeIntervalSinceReferenceDate: 1)).lenientString == "2001-01-01T00:00:01Z")
        #expect(try String(decoding: date.json(), as: UTF8.self) == "\"2001-01-01T00:00:00.250Z\"")
        #expect(try SecretValue(propertyList: date.propertyList()) == date)
    }

    @Test func `an exact accessor answers for its own shape alone`() {
        #expect(all.map { $0.bool } == [nil, true, nil, nil, nil, nil, nil, nil, nil, nil])
        #expect(all.map { $0.int } == [nil, nil, 12, nil, nil, nil, nil, nil, nil, nil])
        #expect(all.map { $0.uint } == [nil, nil, 12, .max, nil, nil, nil, nil, nil, nil])
        #expect(all.map { $0.real } == [nil, nil, nil, nil, 12, nil, nil, nil, nil, nil])
        #expect(all.map { $0.string } == [nil, nil, nil, nil, nil, "12", nil, nil, nil, nil])
        #expect(
            all.map { $0.data != nil }.firstIndex(of: true) == 6 && all.map { $0.date != nil }.firstIndex(of: true) == 7
        )
        #expect(all.filter { $0.array != nil }.count == 1 && all.filter { $0.dictionary != nil }.count == 1)
        #expect(all.filter(\.isNull).count == 1)
    }

    @Test func `a lenient one takes what says the same, and nothing else`() {
        #expect(all.map { $0.lenientInt } == [nil, 1, 12, nil, 12, 12, nil, nil, nil, nil])
        #expect(all.map { $0.lenientReal } == [nil, 1, 12, 18_446_744_073_709_551_616, 12, 12, nil, nil, nil, nil])
        #expect(
            all.map { $0.lenientString }.prefix(8) == [
                nil, "true", "12", "18446744073709551615", "12.0", "12", "12", "1970-01-01T00:00:12Z",
            ])
        let impossible: [SecretValue] = [
            "", "12 ", "1e400", "9223372036854775808", "0x1g", .real(.nan), .real(.infinity), 1.5, .real(1e300),
        ]
        #expect(impossible.allSatisfy { $0.lenientInt == nil })
        #expect(
            (["YES", "no", "TRUE", "0", 1, 0.0, "2", 2] as [SecretValue]).map { $0.lenientBool }
                == [true, false, true, false, true, false, nil, nil])
        #expect(
            (["1970-01-01T00:00:12Z", "1970-01-01T00:00:12.000Z", 12, 12.0] as [SecretValue]).allSatisfy {
                $0.lenientDate == Date(timeIntervalSince1970: 12)
            })
        #expect((["soon", .real(.nan), nil] as [SecretValue]).allSatisfy { $0.lenientDate == nil })
    }

    @Test func `what is not there is null at any depth, and setting it makes dictionaries only of null`() {
        var value: SecretValue = ["servers": [["port": 1]]]
        #expect(value["servers"][0]["port"].int == 1 && value[["servers", 0, "port"]].int == 1)
        #expect(value["servers"][-1][7]["x"].isNull && value["servers"]["port"].isNull && value[["a", 0, "b"]].isNull)
        value["servers"][0]["port"] = 2
        value[["new", "a"]] = "b"
        value["servers"][5] = 1
        value["servers"]["x"] = 1
        #expect(value == ["servers": [["port": 2]], "new": ["a": "b"]])
        value["new"] = nil
        #expect(value == ["servers": [["port": 2]]])
    }

    @Test func `an integer has one case`() {
        #expect(SecretValue(UInt64(5)) == .integer(5) && SecretValue(UInt64.max) == .unsigned(.max))
        #expect(SecretValue(Int8(-5)) == -5 && SecretValue(Int128.max) == nil)
    }
}
