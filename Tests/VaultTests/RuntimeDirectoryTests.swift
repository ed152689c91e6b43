// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import Vault

struct RuntimeDirectoryTests {
    @Test func `without the variable, only a directory of the user's alone takes its place`() throws {
        let parent = try TemporaryDirectory()
        let own = parent.path.appending(String(geteuid()))
        let found = { RuntimeDirectory.path($0, else: parent.path) }
        #expect(found(nil) == nil)
        try parent.write([], to: own.lastComponent?.string ?? "")
        #expect(found(nil) == nil && unlink(own.string) == 0)
        #expect(mkdir(own.string + ".other", 0o700) == 0 && symlink(own.string + ".other", own.string) == 0)
        #expect(found(nil) == nil && unlink(own.string) == 0)
        #expect(mkdir(own.string, 0o700) == 0 && chmod(own.string, 0o750) == 0)
        #expect(found(nil) == nil)
        #expect(chmod(own.string, 0o700) == 0)
        #expect(found(nil) == own && found("relative") == own)
        #expect(found("/named") == "/named")
    }
}
