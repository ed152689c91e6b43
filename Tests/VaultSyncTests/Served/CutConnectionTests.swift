// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import Synchronization
import SystemPackage
import TestSupport
import Testing
import Vault
import VaultFormat
import VaultStorage
import VaultSystem

@testable import VaultSync

/// Connections to a server that end after every frame of a sync, or within one.
struct CutConnectionTests {
    /// The point at which a connection ends.
    struct Cut: Sendable {
        let isOfDevice: Bool
        /// The number of frames that pass before it.
        let frames: Int
        /// The number of bytes of the next frame that pass.
        let part: Int
        /// Whether later connections end there too.
        let isLasting: Bool
    }

    @Test(arguments: [true, false], [0, 12])
    func `a sync that is cut off says so, and the next one is whole`(isOfDevice: Bool, part: Int) throws {
        let disk = MemoryFileSystem()
        let clock = ManualClock()
        let homes = try ["a", "b"].map { try Home($0, on: disk, clock: clock) }
        let url = try RemoteURL("ssh://host/shared")
        let engine = CutEngine(disk)
        let fleets = try homes.map {
            try Fleet($0.vault, environment: $0.environment, engines: RemoteEngines([.ssh: engine]))
        }
        func sync(_ index: Int) throws -> SyncOutcome {
            clock.advance(by: 1)
            return try fleets[index].sync()[0]
        }
        _ = try fleets[0].found(url, deviceName: "a")
        let attempt = try fleets[1].requestToJoin(url, deviceName: "b")
        _ = try fleets[0].approve(attempt.code, role: .owner)
        #expect(try attempt.poll())
        for index in [1, 0, 1] { #expect(try sync(index).error == nil) }
        try homes[0].add("ada", "0")
        var failures = 0
        for isLasting in [true, false] {
            for frames in 0..<1000 {
                let number = "\(isLasting) \(frames)"
                try homes[0].change("ada", number)
                engine.begin(Cut(isOfDevice: isOfDevice, frames: frames, part: part, isLasting: isLasting))
                let outcome = try sync(0)
                if let error = outcome.error {
                    guard case .store(.unreachable) = error else {
                        Issue.record("\(error) at \(number)")
                        return
                    }
                    failures += 1
                }
                #expect(outcome.alarms.isEmpty)
                let wasCut = engine.begin(nil)
                for index in [0, 1] {
                    let outcome = try sync(index)
                    #expect(outcome.error == nil && outcome.alarms.isEmpty && outcome.notes.isEmpty, "\(number)")
                }
                #expect(try homes[1].secrets() == ["ada": number])
                if !wasCut { break }
            }
        }
        #expect(failures > 1)
        #expect(try fleets[0].fingerprint() == fleets[1].fingerprint())
    }
}

/// A server whose connections are cut off.
private final class CutEngine: RemoteEngine {
    private struct State {
        var link: ServedLink?
        var cut: CutConnectionTests.Cut?
        var wasCut = false
    }

    private let disk: any VaultFileSystem
    private let state = Mutex(State())

    init(_ disk: any VaultFileSystem) { self.disk = disk }

    /// Sets the point at which new connections are cut.
    ///
    /// - Returns: whether a connection was cut since the last call.
    @discardableResult
    func begin(_ cut: CutConnectionTests.Cut?) -> Bool {
        state.withLock { state in
            defer { (state.link, state.cut, state.wasCut) = (nil, cut, false) }
            return state.wasCut
        }
    }

    func store(at remote: RemoteAccess, realm: RealmID) throws(RecordStoreError) -> any RecordStore {
        ServedRecordStore(link(), realm: realm)
    }

    func realms(at remote: RemoteAccess) throws(RecordStoreError) -> [RealmID] {
        try link().realms().filter { $0 != .zero }
    }

    private func link() -> ServedLink {
        state.withLock { state in
            if let link = state.link { return link }
            let link = ServedLink { [self] () throws(RecordStoreError) in
                try ServedPair.connection(patience: .seconds(30)) { [self] input, output in
                    try? relay(input, output)
                }
            }
            state.link = link
            return link
        }
    }

    /// Relays frames between a device and a server until one of them ends, or the connection is cut.
    private func relay(_ input: Int32, _ output: Int32) throws {
        let (there, back) = (try ServedPair.pipe(), try ServedPair.pipe())
        let serving = DispatchGroup()
        DispatchQueue(label: "server").async(group: serving) { [disk] in
            _ = try? RecordServer(Home.remote, .init(), input: there.reading, output: back.writing, on: disk).run()
            for end in [there.reading, back.writing] { close(end) }
        }
        do {
            let device = try FramePipes(
                input: input, output: output, patience: .seconds(30))
            let server = try FramePipes(
                owning: Descriptor(owning: back.reading), Descriptor(owning: there.writing), patience: .seconds(30))
            let pumping = DispatchGroup()
            for (from, to, isOfDevice) in [(device, server, true), (server, device, false)] {
                DispatchQueue(label: "relay").async(group: pumping) { [self] in
                    try? pump(from, to, isOfDevice)
                    device.stop()
                    server.stop()
                }
            }
            pumping.wait()
        }
        serving.wait()
    }

    private func pump(_ from: FramePipes, _ to: FramePipes, _ isOfDevice: Bool) throws(PipeFailure) {
        var reader = FrameReader(from)
        try reader.readGreeting()
        try to.send(ServedFrame.greeting)
        var count = 0
        while true {
            let frame = try reader.next(idle: nil)
            let cut = state.withLock { state -> CutConnectionTests.Cut? in
                guard let cut = state.cut, cut.isOfDevice == isOfDevice, cut.frames == count else { return nil }
                state.wasCut = true
                if !cut.isLasting { state.cut = nil }
                return cut
            }
            guard let cut else {
                try to.send(frame)
                count += 1
                continue
            }
            return try to.send(Array(frame.encoded.prefix(cut.part)))
        }
    }
}
