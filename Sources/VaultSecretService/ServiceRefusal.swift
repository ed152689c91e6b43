// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultBus
internal import VaultCrypto

/// The error sent as the answer to a call.
struct ServiceRefusal: Error, Equatable {
    let name: String
    let text: String

    private init(_ name: String, _ text: String) { (self.name, self.text) = ("org.freedesktop." + name, text) }

    static let isLocked = ServiceRefusal("Secret.Error.IsLocked", VaultError.locked.text)
    static let noSession = ServiceRefusal("Secret.Error.NoSession", "there is no such session of this client")
    static let noSuchObject = ServiceRefusal("Secret.Error.NoSuchObject", "there is no such object")
    static let denied = ServiceRefusal("DBus.Error.AccessDenied", "this client may not do that")
    static let noVault = ServiceRefusal("Secret.Error.NoSuchObject", "there is no vault yet")

    static func unknownMethod(_ text: String) -> ServiceRefusal { ServiceRefusal("DBus.Error.UnknownMethod", text) }
    static func invalid(_ text: String) -> ServiceRefusal { ServiceRefusal("DBus.Error.InvalidArgs", text) }
    static func notSupported(_ text: String) -> ServiceRefusal { ServiceRefusal("DBus.Error.NotSupported", text) }
    static func tooMany(_ text: String) -> ServiceRefusal { ServiceRefusal("DBus.Error.LimitsExceeded", text) }
    static func failed(_ text: String) -> ServiceRefusal { ServiceRefusal("DBus.Error.Failed", text) }

    /// Maps an error of the vault. The text names no attribute.
    init(_ error: VaultError) {
        switch error {
        case .locked, .agent(.notRunning), .agent(.gone): self = .isLocked
        case .itemNotFound, .itemChanged: self = .noSuchObject
        case .agent(.refused), .accessGroupDenied: self = .denied
        case .agent(.busy): self = .failed("the agent does not answer")
        case .storage(.valueTooLarge), .storage(.attributesTooLarge): self = .tooMany(error.text)
        default: self = .failed(error.errorDescription ?? "the vault cannot be used")
        }
    }

    /// Maps a failure to read or write a message.
    init(_ error: BusError) {
        switch error {
        case .cryptography(let error): self.init(error)
        default: self = .invalid("the arguments are not of the types that the method takes")
        }
    }

    init(_ error: CryptoError) {
        self = error == .outOfMemory ? .failed("there is no locked memory left") : .failed("cryptography is not there")
    }
}
