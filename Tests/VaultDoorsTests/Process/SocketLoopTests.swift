// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemPackage
import Testing
import VaultLoop

@testable import VaultDoorKit
@testable import VaultSSHAgent
@testable import VaultSecretService

struct SocketLoopTests {
    @Test func `a process that may open no more files hears that, and does not hang`() async {
        await #expect(processExitsWith: .success) {
            #expect(SocketLoop(label: "with") != nil)
            let house = try TestHouse(FilePath("/nowhere"))
            var limit = rlimit()
            guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { throw Errno.badAddress }
            limit.rlim_cur = 0
            guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { throw Errno.badAddress }
            #expect(SocketLoop(label: "without") == nil)
            // A question could not learn that its answer is no longer wanted.
            #expect(PromptStop() == nil)
            #expect(SSHLine().watched { _ in true } == nil)
            #expect(throws: DoorError.noDescriptors) {
                try SecretService.start([.secretService], at: "unix:path=/nowhere", house: house) { _ in }
            }
        }
    }
}
