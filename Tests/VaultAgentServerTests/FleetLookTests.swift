// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing
import Vault
import VaultCrypto
import VaultFormat
import VaultSync

@testable import VaultAgent
@testable import VaultAgentServer
@testable import VaultFleet

/// The encoding of an agent's report on a fleet.
struct FleetLookTests {
    private static var full: FleetLook {
        let devices = [
            FleetDevice(id: .zero, name: "lap\u{1B}top", role: .owner, isThis: true, lastHeard: nil, isSilent: false),
            FleetDevice(id: .zero, name: "", role: .reader, isThis: false, lastHeard: 1.5, isSilent: true),
        ]
        let status = FleetStatus(
            realmID: .zero, deviceName: "laptop",
            remotes: [
                FleetStatus.Remote(url: RemoteURL(folder: "/sh%re d"), lastSync: 2.5),
                FleetStatus.Remote(url: RemoteURL(folder: "/other"), lastSync: nil),
            ],
            isFiltered: true, pending: 3, conflicts: 4, isRemoved: true, removals: ["phone"], lastEqual: -1,
            devices: devices, alarms: [Alarm(.withheld, nil, 0, "what")])
        return FleetLook(status: status, failure: .notAnOwner, deviceNames: [.zero: "laptop"])
    }

    private static func bytes(_ look: FleetLook) -> [UInt8] { SyncReply.parts(of: look).flatMap(\.part) }

    private static func parse(_ bytes: [UInt8]) throws -> FleetLook {
        var reader = MessageReader(bytes, secrets: nil)
        let look: FleetLook = try reader.read()
        try reader.end()
        return look
    }

    @Test func `a look has one form, and whatever is read is written again byte for byte`() throws {
        let bytes = Self.bytes(Self.full)
        #expect(Self.bytes(try Self.parse(bytes)) == bytes)
        for index in bytes.indices {
            #expect(throws: MessageError.self) { try Self.parse(Array(bytes[..<index])) }
            for change in [1, 0x80] as [UInt8] {
                var changed = bytes
                changed[index] ^= change
                if let read = try? Self.parse(changed) { #expect(Self.bytes(read) == changed) }
            }
        }
    }

    @Test func `an agent says what it knows of a fleet, and that there is none`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        let look: FleetLook = try client.value(of: FleetRequest())
        #expect(look.status == nil && look.failure == .notJoined && look.deviceNames.isEmpty)
    }

    @Test func `an agent keeps the set number of older versions, and removes them on request`() throws {
        let agent = try TestAgent()
        let client = try agent.unlocked()
        #expect(try client.historyLimit == 0)
        try client.setHistoryLimit(2)
        #expect(try client.historyLimit == 2)
        #expect(try client.deletedItemsLimit == nil)
        try client.setDeletedItemsLimit(30)
        #expect(try client.deletedItemsLimit == 30)
        try client.setDeletedItemsLimit(nil)
        #expect(try client.deletedItemsLimit == nil)
        for text in ["one", "two"] {
            try client.set(Item(.genericPassword(service: "s"), secret: try Secret(text: text)))
        }
        let query = Query(.genericPassword, service: "s")
        #expect(try client.versions(matching: query).count == 2)
        #expect(try client.purgeHistory(matching: [query], onlyDeleted: false) == 1)
        #expect(try client.versions(matching: query).count == 1)
        for limit in [-1, 1001] {
            #expect(throws: VaultError.parameter(.limit)) { try client.setHistoryLimit(limit) }
        }
        for days in [-1, 0, 36_501] {
            #expect(throws: VaultError.parameter(.limit)) { try client.setDeletedItemsLimit(days) }
        }
    }
}
