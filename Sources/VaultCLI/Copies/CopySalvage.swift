// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import SystemPackage
internal import Vault

struct SalvageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract: "Copy the intact parts of a damaged vault to a new one.",
        discussion: """
            The damaged file stays unchanged. The new vault contains only what the vault's key authenticates; standard \
            output lists the incomplete items. Items that were deleted in a lost part come back, and items that were \
            changed there have their earlier state. 'vault restore' replaces the damaged vault by the new one.
            """)

    @Argument(help: "The vault to create.", completion: .file())
    var target: String

    @OptionGroup var vault: VaultOptions
    @OptionGroup var output: JSONOption

    @Flag(help: "Accept a result that lacks changes which this device has seen.")
    var acceptOlder = false

    func validate() throws {
        guard !target.isEmpty, !target.hasSuffix("/") else { throw ValidationError("salvage takes a file") }
    }

    func run() throws {
        let path = try vault.file.path()
        do { try salvage(path) } catch let error as VaultError {
            if error == .storage(.alreadyExists) { throw CommandError(error, at: FilePath(target)) }
            var failure = CommandError(error, at: path)
            if failure.status == .damaged {
                failure.hint = "restore a backup: the key verifies nothing in the file"
            }
            throw failure
        }
    }

    private func salvage(_ path: FilePath) throws {
        let damaged = try DamagedVault(at: path)
        let unlocking = UnlockTarget(damaged: damaged, at: path)
        try vault.unlocking.checkAvailable(for: unlocking)
        let acceptance = OlderStateAcceptance(isGiven: acceptOlder, what: "The damaged file")
        let result = try acceptance.asking { accepts in
            try vault.unlocking.opening(unlocking, asksMachine: true) { secret in
                try Progress.during("salvaging") { report in
                    try damaged.salvage(with: secret, to: FilePath(target), accepts: accepts, report: report)
                }
            }
        }
        try Output.after("the new vault '\(target.printable)' is written") { try write(result) }
        let salvage = result.salvage
        Output.note("\(salvage.whole) items are whole, \(result.damaged.count) are not")
        if salvage.missingFrames > 0 {
            let all = UInt64(salvage.frames) + salvage.missingFrames
            Output.warn("\(salvage.missingFrames) of \(all) frames are lost, \(salvage.missingText)")
        }
        if salvage.unreadableBytes > 0 {
            Output.warn("\(salvage.unreadableBytes) bytes could not be verified with the key")
        }
        if !salvage.isHeaderWhole {
            Output.warn("the header was changed: only the slot that opened it opens the new vault")
        }
        if salvage.lacksStart { Output.warn("the oldest frames are lost, and the number of their items is unknown") }
        guard result.damaged.isEmpty, salvage.missingFrames == 0, !salvage.lacksStart,
            salvage.frames > 0 || salvage.unreadableBytes == 0
        else {
            let what =
                salvage.whole == 0 ? "nothing could be recovered completely" : "not everything could be recovered"
            throw CommandError(.damaged, what, hint: "the recovered items are in '\(target.printable)'")
        }
    }

    private func write(_ result: DamagedVault.Result) throws {
        guard output.json else {
            return try Output.write(result.damaged.map { Report($0.item, $0.loss).line + "\n" }.joined())
        }
        try Output.json(result.damaged.map { Report($0.item, $0.loss) })
    }

    private struct Report: Encodable {
        var service: String
        var account: String?
        var version: UInt64?
        /// The state of its secret.
        var state: String

        init(_ item: Item, _ loss: Salvage.Loss) {
            service = item.serviceName
            account = item.accountName.present
            version = item.record?.version
            state =
                switch loss {
                case .newestValue: "older"
                case .value: "lost"
                }
        }

        var line: String {
            let what = state == "older" ? "an older secret; the newest is lost" : "the secret is lost"
            return "\(service.printable)\t\((account ?? "").printable)\t\(what)"
        }
    }
}

extension Salvage {
    /// The number of items in the lost frames.
    fileprivate var missingText: String {
        let (least, most) = (missingItems.lowerBound, missingItems.upperBound)
        if least == most { return "and with them \(least == 1 ? "1 item" : "\(least) items")" }
        if most < UInt16.max { return "and with them at most \(most) items" }
        return "and the number of their items is unknown"
    }
}
