// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultDoorKit

struct PlaceSocketTests {
    @Test func `a silent client holds up the next one no longer than its time`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path.appending("doors.sock")
        let bound = clinux_bind_unix(path.string)
        try #require(bound >= 0)
        let told = Mutex<[[String: String]]>([])
        let socket = PlaceSocket(Int32(bound)) { variables in told.withLock { $0.append(variables) } }
        try #require(socket != nil)
        let silent = clinux_connect_unix(path.string, 5)
        try #require(silent >= 0)
        // The socket disconnects the silent client at its timeout.
        var byte: UInt8 = 0
        #expect(recv(Int32(silent), &byte, 1, 0) == 0)
        close(Int32(silent))
        #expect(PlaceSocket.tell(["DISPLAY": ":1"], at: path))
        #expect(told.withLock(\.self) == [["DISPLAY": ":1"]])
        withExtendedLifetime(socket) {}
    }
}
