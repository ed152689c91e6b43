// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The options that unlock the vault with a FIDO2 security key.
struct SecurityKeyOptions: ParsableArguments {
    @Flag(help: "Unlock with a security key, which asks for a touch: see 'vault help slot add'.")
    var fido2 = false

    @Option(
        help: ArgumentHelp(
            "Unlock with this one, such as /dev/hidraw3; else with the only one, or the one that is touched.",
            valueName: "device"),
        completion: .file())
    var fido2Device: String?

    /// Whether a security key is to unlock the vault. `slot add fido2` may use the device for the new key instead.
    var isNamed: Bool { fido2 || fido2Device != nil }
}
