// SPDX-License-Identifier: Apache-2.0

extension KeySlot {
    /// What opens a slot. Its number stands in the file, and in the messages to an agent.
    public enum Kind: UInt8, CaseIterable, Sendable {
        case passphrase = 1, recoveryCode, passphraseAndKeyFile, external, keyFile

        /// The table of kinds: as people call it, and what it takes.
        private var row: (label: String, parts: [Part]) {
            switch self {
            case .passphrase: ("passphrase", [.passphrase])
            case .recoveryCode: ("recovery code", [.recoveryCode])
            case .passphraseAndKeyFile: ("passphrase and key file", [.passphrase, .keyFile])
            case .external: ("external secret", [.machineSecret])
            case .keyFile: ("key file", [.keyFile])
            }
        }

        /// As people call it.
        public var label: String { row.label }

        /// What its key is derived from, in this order.
        public var parts: [Part] { row.parts }

        /// Whether a part of it was chosen by a person, so that guesses have to be made dear.
        public var takesPassphrase: Bool { parts.contains(.passphrase) }

        /// Whether a person opens it with what they know or have written down.
        public var isForPeople: Bool { parts.contains { $0 == .passphrase || $0 == .recoveryCode } }
    }

    /// What opens a slot, or a part of what does.
    public enum Part: Sendable {
        case passphrase, recoveryCode, keyFile
        /// 32 bytes that this machine keeps.
        case machineSecret
    }

    /// Who keeps the secret of an external slot.
    public enum Provider: UInt16, Sendable {
        case systemdCredential = 1, tpm2, fido2

        /// As people call it.
        public var label: String {
            switch self {
            case .systemdCredential: "systemd credential"
            case .tpm2: "TPM2"
            case .fido2: "FIDO2"
            }
        }
    }
}
