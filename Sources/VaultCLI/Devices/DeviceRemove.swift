// SPDX-License-Identifier: Apache-2.0
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Vault
internal import VaultFormat
internal import VaultSync

struct DeviceRemove: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Shut a device out of the fleet.",
        discussion: """
            A lost one, one that nobody uses any more, or one that was copied. It can read nothing that is told from \
            then on, and nothing that it writes counts. What it has read it keeps: the items are listed whose secrets \
            are to be changed where they are used. Syncs first, and stops if something is wrong. Asks on a terminal; \
            without one, --yes is needed.
            """)

    @Argument(help: "The name of the device: see 'vault device list'.")
    var name: String

    @Flag(help: "Do not ask.")
    var yes = false

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var vault: VaultOptions

    func run() throws {
        if !yes { try Confirmation.checkPossible() }
        try vault.withFleet { fleet, opened in
            let matching = try fleet.status().devices.filter { $0.name == name }
            guard let device = matching.first else { throw SyncError.noSuchDevice }
            guard !device.isThis || matching.count > 1 else {
                throw CommandError.usage(
                    "this is the device itself", hint: "remove it on another one that is an owner's")
            }
            if !yes {
                try Confirmation.ask(
                    "Remove '\(name.printable)' (\(device.role.label)) from the fleet? What it has read it keeps.")
            }
            let removal = try Progress.during("removing the device") { _ in try fleet.remove(deviceNamed: name) }
            let items = try DeviceRemove.items(removal.readable, in: opened)
            if json {
                try Output.json(
                    Removal(device: DeviceSummary(removal.device), readable: items.map { ItemOutput(item: $0) }))
            } else if Terminal.isTerminal(STDOUT_FILENO) {
                try Output.write(ItemTable(items).text(width: Terminal.width(of: STDOUT_FILENO)))
            } else {
                try Output.write(ItemTable(items).lines)
            }
            Output.note(
                "'\(name.printable)' is removed; it could read the secrets of \(items.count.grouped) items that are "
                    + "there: rotate those")
        }
    }

    private struct Removal: Encodable {
        var device: DeviceSummary
        var readable: [ItemOutput]
    }

    /// Those that are still there and have a secret, sorted.
    private static func items(_ ids: [ItemID], in vault: Vault) throws -> [Item] {
        let wanted = Set(ids)
        return try ItemClass.allCases.flatMap { itemClass in
            var query = Query(itemClass)
            query.synchronizableAny = true
            return try vault.allMatching(query)
        }
        .filter { item in
            guard let record = item.record, record.hasSecret else { return false }
            // Its reference is the class, of four bytes, and the identifier.
            return wanted.contains(ItemID(Array(record.persistentReference.dropFirst(4)).span))
        }
        .sorted { ItemTable.precedes($0, $1) }
    }
}
