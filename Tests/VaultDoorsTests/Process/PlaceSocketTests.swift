// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultDoorKit

struct PlaceSocketTests {
    @Test func `silent clients, of any number, delay no client that speaks`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path.appending("doors.sock")
        let bound = clinux_bind_unix(path.string)
        try #require(bound >= 0)
        let told = Mutex<[[String: String]]>([])
        let socket = PlaceSocket(Int32(bound)) { variables in told.withLock { $0.append(variables) } }
        try #require(socket != nil)
        let silent = try SilentProcess(at: path.string, connections: 20)
        #expect(PlaceSocket.tell(["DISPLAY": ":1"], at: path))
        #expect(told.withLock(\.self) == [["DISPLAY": ":1"]])
        silent.end()
        withExtendedLifetime(socket) {}
    }

    @Test func `a client that sends half a message is disconnected at its timeout`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path.appending("doors.sock")
        let bound = clinux_bind_unix(path.string)
        try #require(bound >= 0)
        let socket = PlaceSocket(Int32(bound)) { _ in Issue.record("half a message was taken") }
        try #require(socket != nil)
        let slow = Int32(clinux_connect_unix(path.string, 5))
        try #require(slow >= 0)
        var byte = UInt8(ascii: "D")
        send(slow, &byte, 1, 0)
        #expect(recv(slow, &byte, 1, 0) == 0)
        close(slow)
        withExtendedLifetime(socket) {}
    }
}
