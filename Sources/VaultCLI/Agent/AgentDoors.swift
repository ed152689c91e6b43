// SPDX-License-Identifier: Apache-2.0
internal import Glibc
internal import SystemPackage
internal import VaultCrypto

/// The process of an agent's doors, which ends with the agent.
struct AgentDoors: ~Copyable {
    private let process: Int32

    /// Starts the process, and returns when the doors are open.
    ///
    /// - Throws: the reason if the doors cannot be opened.
    static func open(on vault: FilePath) throws -> AgentDoors {
        let arguments = [
            Helper.ownExecutable, "doors", Door.secretService.option, "--vault", vault.string, "--parent",
            "\(getpid())",
        ]
        let (process, announcement) = try Helper(arguments).beside(limit: 4096)
        // Made before the check, so that a process that failed is ended and reaped.
        let doors = AgentDoors(process: process)
        try AgentLauncher.check(announcement.bytes, "the door")
        return doors
    }

    private init(process: Int32) { self.process = process }

    deinit { Helper.end(process) }
}
