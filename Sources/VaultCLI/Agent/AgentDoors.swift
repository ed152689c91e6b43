// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
internal import VaultCrypto

/// The process of the doors that an agent has beside it, and which ends with it.
struct AgentDoors: ~Copyable {
    private let process: Int32

    /// Returns when they are open.
    ///
    /// - Throws: why they cannot be.
    static func open(on vault: FilePath) throws -> AgentDoors {
        let arguments = [
            Helper.ownExecutable, "doors", "--secret-service", "--vault", vault.string, "--parent", "\(getpid())",
        ]
        let (process, announcement) = try Helper(arguments).beside(limit: 4096)
        // One that has failed ends, and is waited for.
        let doors = AgentDoors(process: process)
        try AgentLauncher.check(announcement.bytes, "the door")
        return doors
    }

    private init(process: Int32) { self.process = process }

    deinit { Helper.end(process) }
}
