// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser

/// The options that unlock the vault with a FIDO2 security key.
struct SecurityKeyOptions: ParsableArguments {
    @Flag(help: "Unlock with a security key, which asks for a touch: see 'vault help slot add'.")
    var fido2 = false

    @Option(
        help: ArgumentHelp(
            "The security key, such as /dev/hidraw3; else the only one, or the one that is touched.",
            valueName: "device"),
        completion: .file())
    var fido2Device: String?
}
