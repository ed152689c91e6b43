// SPDX-License-Identifier: Apache-2.0
package import SystemPackage
package import Vault
internal import VaultStorage

extension AuditLog {
    /// Returns the path of the file to which lines are added.
    package static func path(of vaultID: [UInt8], in directory: FilePath) -> FilePath {
        directory.appending(AuditFiles(directory: directory, vaultID: vaultID).name(0))
    }

    /// Returns whether the vault has a log, or had one.
    package static func exists(of vaultID: [UInt8], in directory: FilePath) -> Bool {
        let files = AuditFiles(directory: directory, vaultID: vaultID)
        return files.headBytes != nil || !files.all().isEmpty
    }

    /// Calls the body with each line in turn, from the oldest, without its newline. Neither the log nor a file of it is
    /// in memory as a whole.
    package static func forEachLine(
        of vaultID: [UInt8], in directory: FilePath, _ body: ([UInt8]) throws -> Void
    ) throws {
        let files = AuditFiles(directory: directory, vaultID: vaultID)
        let head = files.headBytes.flatMap { AuditHead($0, nil) }
        for file in files.all(after: head) { try AuditLine.forEach(in: file, body) }
    }

    /// - Returns: the number of lines, and the number of the first altered one, counted from the oldest that is there;
    ///   if lines are missing at the end, the number of the first missing one.
    package static func check(with vault: Vault, in directory: FilePath) throws(VaultError) -> (
        entries: Int, firstChanged: Int?
    ) {
        let seal = try vault.auditSeal()
        let files = AuditFiles(directory: directory, vaultID: vault.vaultID)
        var result: (entries: Int, firstChanged: Int?) = (0, nil)
        // A rotation during the check may remove the oldest file. The next one is far away.
        for _ in 0..<4 {
            let head = files.headBytes
            result = check(files, head, seal)
            let now = files.headBytes
            if head.flatMap({ AuditHead($0, seal) })?.dropped == now.flatMap({ AuditHead($0, seal) })?.dropped { break }
        }
        return result
    }

    /// - Parameter head: the bytes of the head, read before the lines, which only increase.
    private static func check(
        _ files: AuditFiles, _ head: [UInt8]?, _ seal: AuditSeal
    ) -> (entries: Int, firstChanged: Int?) {
        let known = head.flatMap { AuditHead($0, seal) }
        let dropped = known?.dropped ?? 0
        var (entries, firstChanged, hasHead, isEndKnown) = (0, nil as Int?, false, false)
        var tag = known?.base ?? start
        for file in files.all(after: known) {
            AuditLine.forEach(in: file) { bytes in
                entries += 1
                guard firstChanged == nil else { return }
                let line = AuditLine(bytes)
                guard line.number == dropped + entries, seal.tag(of: line.text, after: tag) == line.tag else {
                    return firstChanged = entries
                }
                (tag, hasHead) = (line.tag, hasHead || line.hasHead)
                if line.number == known?.count, line.tag == known?.tag { isEndKnown = true }
            }
        }
        guard firstChanged == nil else { return (entries, firstChanged) }
        guard head != nil else { return (entries, hasHead ? entries + 1 : nil) }
        // A forged head proves no length, but proves the manipulation.
        guard let known else { return (entries, entries + 1) }
        return (entries, isEndKnown || known.count == dropped ? nil : entries + 1)
    }
}
