// SPDX-License-Identifier: Apache-2.0
internal import SystemPackage
internal import VaultFormat
internal import VaultStorage
internal import VaultSystem

/// The length and the last MAC of an audit log, in a file beside it, by which missing lines at the end, or a missing
/// log, are detected.
///
/// `"VLTAUDH1" || count u64 || mac of the last line 32 || BLAKE2b-256(K_audit, 32 zeros || all before)`, in `<vault
/// identifier>.audit.head`. A line begins with a brace, so neither can be mistaken for the other. An attacker who also
/// restores an older head is not detected.
struct AuditHead: Equatable {
    var count: Int
    /// The MAC of the last line, 32 bytes.
    var tag: [UInt8]

    private static let label = Array("VLTAUDH1".utf8)
    private static let length = 80

    static func name(of vaultID: [UInt8]) -> String { hexadecimal(vaultID) + ".audit.head" }

    func sealed(_ seal: AuditSeal) -> [UInt8] {
        let covered = AuditHead.label + (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } + tag
        return covered + seal.tag(of: covered, after: AuditLog.start)
    }

    /// Fails unless the seal has made these bytes.
    init?(_ bytes: [UInt8], _ seal: AuditSeal) {
        guard bytes.count == Self.length else { return nil }
        let count = (8..<16).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[$1]) }
        guard count <= UInt64(Int32.max) else { return nil }
        self.init(count: Int(count), tag: Array(bytes[16..<48]))
        guard sealed(seal) == bytes else { return nil }
    }

    init(count: Int, tag: [UInt8]) {
        self.count = count
        self.tag = tag
    }

    /// Returns the bytes of the file, valid or not; `nil` if there is none.
    static func bytes(of vaultID: [UInt8], in directory: FilePath) -> [UInt8]? {
        guard let directory = try? LinuxFileSystem().openDirectory(directory),
            (try? directory.status(of: name(of: vaultID)))?.kind == .regular
        else { return nil }
        return try? directory.open(name(of: vaultID), writable: false).read(length + 1, at: 0)
    }

    static func open(of vaultID: [UInt8], in directory: FilePath) throws(Errno) -> any VaultFile {
        try LinuxFileSystem().openDirectory(directory).openOrCreate(name(of: vaultID))
    }
}
