// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import SystemPackage
internal import VaultCrypto
internal import VaultFormat

/// Secrets that only this machine can open, sealed by systemd-creds(1) with the system's key
/// (`/var/lib/systemd/credential.secret`, readable by root only) or with the TPM2 chip.
///
/// systemd and tpm2-tss do the sealing; only the 32 bytes and their sealed form are exchanged.
public struct SystemCredential: Sendable {
    /// The argument of `--tpm2-device`: a device, or a driver of tpm2-tss and its parameter; `nil` for the machine's
    /// chip.
    public var device: String?
    /// The platform configuration registers that the chip compares, as the argument of `--tpm2-pcrs`.
    ///
    /// Firmware does not change register 16, so the secret is bound to the chip only, and not to state that an update
    /// or a new system changes.
    public var registers: String

    /// - Parameters:
    ///   - device: `nil` for the machine's chip.
    ///   - registers: 16 binds the secret to the chip only.
    public init(device: String? = nil, registers: String = "16") {
        self.device = device
        self.registers = registers
    }

    /// The longest sealed form that fits in a vault's header.
    static let longestBlob = Header.annexLength
    private static let patience: Int32 = 30
    private static let paths = [
        "/usr/bin/systemd-creds", "/bin/systemd-creds", "/run/current-system/sw/bin/systemd-creds",
    ]

    /// - Returns: the sealed form in base64, 100 to 1,728 bytes.
    /// - Throws: `.machineSecret`.
    func seal(_ secret: borrowing SecretBytes, for provider: KeySlot.Provider, vaultID: [UInt8]) throws(StorageError)
        -> [UInt8]
    {
        var arguments = ["encrypt", "--name=\(Self.name(vaultID))"]
        switch provider {
        case .systemdCredential: arguments.append("--with-key=host")
        case .tpm2: arguments += ["--with-key=tpm2", "--tpm2-pcrs=\(registers)"] + (try deviceArgument())
        case .fido2: throw .machineSecret(.unknownProvider)
        }
        var sealed = try secured(SecretBytes(zeroed: 4 * Self.longestBlob))
        let count: Int
        do throws(StorageError) { count = try run(arguments, secret, into: &sealed) } catch {
            throw error == .machineSecret(.failed) ? .machineSecret(.cannotSeal) : error
        }
        let text = sealed.withBytes { $0.array(0..<count) }.filter { $0 > 0x20 }
        guard text.count <= Self.longestBlob, Self.isSealed(text, by: provider) else { throw .machineSecret(.failed) }
        return text
    }

    /// - Throws: `.machineSecret`.
    func unseal(_ blob: [UInt8], for provider: KeySlot.Provider, vaultID: [UInt8]) throws(StorageError) -> Secret {
        guard provider != .fido2 else { throw .machineSecret(.unknownProvider) }
        guard Self.isSealed(blob, by: provider) else { throw .machineSecret(.failed) }
        let arguments =
            ["decrypt", "--name=\(Self.name(vaultID))", "--newline=no"]
            + (provider == .tpm2 ? try deviceArgument() : [])
        let input = try secured(SecretBytes(copying: blob.span))
        // A byte more than expected, so that longer output is detected.
        var opened = try secured(SecretBytes(zeroed: 33))
        guard try run(arguments, input, into: &opened) == 32 else { throw .machineSecret(.failed) }
        return Secret(try secured(opened.copy(of: 0..<32)))
    }

    /// The base64 prefixes of credentials: 126 of the 128 bits that name their key (systemd, src/shared/creds-util.h).
    /// systemd-creds also opens credentials sealed with a well-known key, which any user could have made.
    private static let beginnings: [KeySlot.Provider: [StaticString]] = [
        .systemdCredential: ["Whxqht+dQJax1aZeCGLxm"], .tpm2: ["DHzAexF2RZGcSwvqCLwg/", "+vfrk0HjQSyhpDb5Wik2L"],
    ]

    private static func isSealed(_ blob: [UInt8], by provider: KeySlot.Provider) -> Bool {
        (beginnings[provider] ?? []).contains { blob.starts(with: "\($0)".utf8) }
    }

    /// The drivers that talk to a chip. Other drivers of tpm2-tss run programs, and an environment variable may set the
    /// device.
    private static let drivers = ["device", "swtpm", "tabrmd", "mssim"]

    private func deviceArgument() throws(StorageError) -> [String] {
        guard let device else { return [] }
        let driver = device.prefix { $0 != ":" }
        let isFile = device.hasPrefix("/dev/") && !device.contains("..")
        guard isFile || driver.count < device.count && Self.drivers.contains(String(driver)) else {
            throw .machineSecret(.noDevice)
        }
        return ["--tpm2-device=\(device)"]
    }

    /// The name bound into the sealed form, so that it is useless in another vault.
    private static func name(_ vaultID: [UInt8]) -> String { "vault.\(hexadecimal(vaultID))" }

    private func run(_ arguments: [String], _ input: borrowing SecretBytes, into output: inout SecretBytes)
        throws(StorageError) -> Int
    {
        var result = -Int(Errno.noSuchFileOrDirectory.rawValue)
        for path in Self.paths where result == -Int(Errno.noSuchFileOrDirectory.rawValue) {
            result = exchange([path] + arguments + ["-", "-"], input, into: &output)
        }
        guard result >= 0 else {
            switch Errno(rawValue: CInt(-result)) {
            case .noSuchFileOrDirectory: throw .machineSecret(.noTool)
            case .timedOut: throw .machineSecret(.timedOut)
            default: throw .machineSecret(.failed)
            }
        }
        return result
    }

    private func exchange(_ arguments: [String], _ input: borrowing SecretBytes, into output: inout SecretBytes) -> Int
    {
        let list: [CChar] = arguments.flatMap { (argument: String) -> [CChar] in Array(argument.utf8CString) } + [0]
        return input.withBytes { input in
            output.withMutableBytes { output in
                // All three are lent for the duration of the call.
                unsafe input.withUnsafeBytes { input in
                    unsafe output.withUnsafeMutableBytes { output in
                        unsafe clinux_exchange(
                            list, input.baseAddress, input.count, output.baseAddress, output.count, Self.patience)
                    }
                }
            }
        }
    }
}
