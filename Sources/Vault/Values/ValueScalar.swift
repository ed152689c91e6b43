// SPDX-License-Identifier: Apache-2.0
internal import FoundationEssentials

/// A type that maps directly to a ``SecretValue``. Every other type is composed of these.
protocol ValueScalar {
    var secretValue: SecretValue { get }

    /// Returns `nil` if the value is of another kind or does not fit.
    init?(exactly value: SecretValue)
}

extension Bool: ValueScalar {
    var secretValue: SecretValue { .bool(self) }

    init?(exactly value: SecretValue) {
        guard let bool = value.bool else { return nil }
        self = bool
    }
}

extension String: ValueScalar {
    var secretValue: SecretValue { .string(self) }

    init?(exactly value: SecretValue) {
        guard let string = value.string else { return nil }
        self = string
    }
}

extension Data: ValueScalar {
    var secretValue: SecretValue { .data(self) }

    init?(exactly value: SecretValue) {
        guard let data = value.data else { return nil }
        self = data
    }
}

extension Date: ValueScalar {
    var secretValue: SecretValue { .date(self) }

    init?(exactly value: SecretValue) {
        guard let date = value.date else { return nil }
        self = date
    }
}

extension ValueScalar where Self: FixedWidthInteger {
    var secretValue: SecretValue { SecretValue(self) ?? .null }

    /// Accepts an integral real as well: formats with a single kind of number write 2.0 for 2.
    init?(exactly value: SecretValue) {
        switch value {
        case .integer(let integer): self.init(exactly: integer)
        case .unsigned(let integer): self.init(exactly: integer)
        case .real(let real): self.init(exactly: real)
        default: return nil
        }
    }
}

extension Int: ValueScalar {}
extension Int8: ValueScalar {}
extension Int16: ValueScalar {}
extension Int32: ValueScalar {}
extension Int64: ValueScalar {}
extension UInt: ValueScalar {}
extension UInt8: ValueScalar {}
extension UInt16: ValueScalar {}
extension UInt32: ValueScalar {}
extension UInt64: ValueScalar {}

extension ValueScalar where Self: BinaryFloatingPoint {
    var secretValue: SecretValue { .real(Double(self)) }

    /// Rounds to the nearest value of the type; `nil` if a finite number would become infinite.
    init?(exactly value: SecretValue) {
        switch value {
        case .integer(let integer): self.init(integer)
        case .unsigned(let integer): self.init(integer)
        case .real(let real):
            self.init(real)
            guard isFinite == real.isFinite else { return nil }
        default: return nil
        }
    }
}

extension Double: ValueScalar {}
extension Float: ValueScalar {}
