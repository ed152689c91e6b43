// SPDX-License-Identifier: Apache-2.0

extension KeySlot {
    /// The kind of secret that opens a slot. The number is used in the file and in messages to an agent.
    public enum Kind: UInt8, CaseIterable, Sendable {
        /// A passphrase.
        case passphrase = 1
        /// 160 random bits that a person has written down.
        case recoveryCode
        /// A passphrase, and the content of a file: both are needed.
        case passphraseAndKeyFile
        /// 32 random bytes that a ``Provider`` keeps.
        case external
        /// The content of a file.
        case keyFile

        /// The table of kinds: the name shown to people, and the parts of the secret.
        private var row: (label: String, parts: [Part]) {
            switch self {
            case .passphrase: ("passphrase", [.passphrase])
            case .recoveryCode: ("recovery code", [.recoveryCode])
            case .passphraseAndKeyFile: ("passphrase and key file", [.passphrase, .keyFile])
            case .external: ("external secret", [.machineSecret])
            case .keyFile: ("key file", [.keyFile])
            }
        }

        /// The name shown to people.
        public var label: String { row.label }

        /// The inputs of its key derivation, in this order.
        package var parts: [Part] { row.parts }

        /// Whether a part was chosen by a person, so that guesses must be made expensive.
        public var takesPassphrase: Bool { parts.contains(.passphrase) }

        /// Whether a person can open it with a secret that they know or have written down.
        public var isForPeople: Bool { parts.contains { $0 == .passphrase || $0 == .recoveryCode } }
    }

    /// A secret that opens a slot, or a part of one.
    package enum Part: Sendable {
        case passphrase, recoveryCode, keyFile
        /// 32 bytes kept by this machine.
        case machineSecret
    }

    /// The keeper of an external slot's secret.
    public enum Provider: UInt16, Sendable {
        /// systemd-creds(1) with the host's key.
        case systemdCredential = 1
        /// The machine's TPM2 chip.
        case tpm2
        /// A FIDO2 security key.
        case fido2

        /// Whether a person must touch the keeper: no program can get the secret alone.
        public var needsPerson: Bool { self == .fido2 }

        /// The name shown to people.
        public var label: String {
            switch self {
            case .systemdCredential: "systemd credential"
            case .tpm2: "TPM2"
            case .fido2: "FIDO2"
            }
        }
    }
}
