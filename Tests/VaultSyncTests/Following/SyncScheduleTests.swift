// SPDX-License-Identifier: Apache-2.0
import SystemPackage
import Testing

@testable import VaultSync

/// The times at which a device syncs by itself, with a clock that the test moves.
struct SyncScheduleTests {
    private let folder = RemoteURL(folder: "/share")
    private let server: RemoteURL
    private let pace = SyncPace()

    init() throws { server = try RemoteURL("etcd://host") }

    /// Returns a schedule that has read its remotes and has synced with them at 0.
    private func settled(_ urls: [RemoteURL]) -> SyncSchedule {
        var schedule = SyncSchedule(at: .zero)
        #expect(schedule.step(at: .zero) == .look)
        schedule.noteLook(urls, devices: 2, hasNews: false, at: .zero)
        #expect(schedule.step(at: .zero) == .sync(Set(urls)))
        for url in urls { #expect(schedule.noteEnd(of: url, .synced, at: .zero, chance: 0) == nil) }
        return schedule
    }

    private func seconds(_ seconds: Double) -> Duration { .milliseconds(Int(seconds * 1000)) }

    @Test func `without a remote nothing is ever due but a look after a commit`() {
        var schedule = SyncSchedule(at: .zero)
        #expect(schedule.step(at: .zero) == .look)
        schedule.noteLook([], devices: 2, hasNews: false, at: .zero)
        #expect(schedule.step(at: .zero) == .wait(nil))
        schedule.noteCommit(at: seconds(5))
        #expect(schedule.step(at: seconds(5)) == .wait(.milliseconds(200)))
        #expect(schedule.step(at: seconds(5.2)) == .look)
        #expect(schedule.noteEnd(of: folder, .failed, at: .zero, chance: 0) == nil)
        #expect(schedule.step(at: seconds(9)) == .wait(nil))
    }

    @Test func `a commit is told of 0.2 seconds later, and one that tells nothing is not`() {
        var schedule = settled([folder, server])
        schedule.noteCommit(at: seconds(1))
        #expect(schedule.step(at: seconds(1)) == .wait(.milliseconds(200)))
        #expect(schedule.step(at: seconds(1.2)) == .look)
        schedule.noteLook([folder, server], devices: 2, hasNews: false, at: seconds(1.2))
        #expect(schedule.step(at: seconds(1.2)) == .wait(seconds(28.8)))
        schedule.noteCommit(at: seconds(2))
        #expect(schedule.step(at: seconds(2.2)) == .look)
        schedule.noteLook([folder, server], devices: 2, hasNews: true, at: seconds(2.2))
        #expect(schedule.step(at: seconds(2.2)) == .sync([folder, server]))
    }

    @Test func `a storm of commits is told of every two seconds`() {
        var schedule = settled([folder])
        var looks = 0
        for tenth in 0..<100 {
            let now = Duration.milliseconds(tenth * 100)
            schedule.noteCommit(at: now)
            guard schedule.step(at: now) == .look else { continue }
            looks += 1
            schedule.noteLook([folder], devices: 2, hasNews: true, at: now)
            #expect(schedule.step(at: now) == .sync([folder]))
            _ = schedule.noteEnd(of: folder, .synced, at: now, chance: 0)
        }
        #expect(looks == 4)
    }

    @Test func `a folder is looked at every 30 seconds, a server every minute`() {
        var schedule = settled([folder, server])
        #expect(schedule.step(at: seconds(29)) == .wait(.seconds(1)))
        #expect(schedule.step(at: seconds(30)) == .sync([folder]))
        _ = schedule.noteEnd(of: folder, .synced, at: seconds(31), chance: 0)
        #expect(schedule.step(at: seconds(31)) == .wait(.seconds(29)))
        #expect(schedule.step(at: seconds(60)) == .sync([server]))
    }

    @Test func `a hint is followed at once, and hints without end once a second`() {
        var schedule = settled([folder, server])
        schedule.noteHint(of: server, at: seconds(10))
        #expect(schedule.step(at: seconds(10)) == .wait(pace.afterHint))
        #expect(schedule.step(at: seconds(10) + pace.afterHint) == .sync([server]))
        _ = schedule.noteEnd(of: server, .synced, at: seconds(10.1), chance: 0)
        var syncs = 0
        for tenth in 101...200 {
            let now = Duration.milliseconds(tenth * 100)
            schedule.noteHint(of: server, at: now)
            guard case .sync(let urls) = schedule.step(at: now) else { continue }
            #expect(urls == [server])
            syncs += 1
            _ = schedule.noteEnd(of: server, .synced, at: now, chance: 0)
        }
        #expect((8...11).contains(syncs))
        schedule.noteHint(of: RemoteURL(folder: "/stranger"), at: seconds(20))
        #expect(schedule.times(of: RemoteURL(folder: "/stranger")) == nil)
    }

    @Test(arguments: [(1, 1.0), (20, 1), (100, 5), (300, 15), (10_000, 15)])
    func `hints without end cost a server as much, whatever the number of devices`(devices: Int, rest: Double) {
        var schedule = settled([server])
        schedule.noteCommit(at: seconds(1))
        #expect(schedule.step(at: seconds(2)) == .look)
        schedule.noteLook([server], devices: devices, hasNews: false, at: seconds(2))
        // The first hint after a while is followed at once.
        schedule.noteHint(of: server, at: seconds(20))
        #expect(schedule.step(at: seconds(20) + pace.afterHint) == .sync([server]))
        schedule.noteHint(of: server, at: seconds(20.1))
        _ = schedule.noteEnd(of: server, .synced, at: seconds(20.2), chance: 0)
        schedule.noteHint(of: server, at: seconds(20.3))
        #expect(schedule.step(at: seconds(20.3)) == .wait(seconds(rest) - seconds(0.1)))
        // A change of its own waits for nothing.
        schedule.noteCommit(at: seconds(20.4))
        #expect(schedule.step(at: seconds(20.6)) == .look)
        schedule.noteLook([server], devices: devices, hasNews: true, at: seconds(20.6))
        #expect(schedule.step(at: seconds(20.6)) == .sync([server]))
    }

    @Test func `a hint that comes while a sync is under way is followed by another one`() {
        var schedule = settled([server])
        schedule.noteHint(of: server, at: seconds(10))
        #expect(schedule.step(at: seconds(11)) == .sync([server]))
        #expect(schedule.times(of: server)?.next == nil)
        schedule.noteHint(of: server, at: seconds(12))
        #expect(schedule.noteEnd(of: server, .synced, at: seconds(13), chance: 0) == nil)
        #expect(schedule.step(at: seconds(13)) == .wait(.seconds(1)))
        #expect(schedule.step(at: seconds(14)) == .sync([server]))
        #expect(schedule.noteEnd(of: server, .synced, at: seconds(14), chance: 0) == nil)
        #expect(schedule.step(at: seconds(14)) == .wait(.seconds(60)))
    }

    @Test func `failures make the next try wait longer, up to ten minutes, and are told once`() {
        var schedule = settled([server])
        var now = seconds(60)
        var waits: [Double] = []
        for attempt in 0..<14 {
            #expect(schedule.step(at: now) == .sync([server]))
            let turn = schedule.noteEnd(of: server, .failed, at: now, chance: attempt == 0 ? 0 : 0.999)
            #expect(turn == (attempt == 0 ? SyncSchedule.Turn.lost : nil))
            guard case .wait(let wait?) = schedule.step(at: now) else {
                Issue.record("there is no next try")
                return
            }
            waits.append(wait / .seconds(1))
            now += wait
        }
        #expect(waits[0] == 0.5)
        let expected: [Double] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600, 600]
        #expect(waits.dropFirst().map { $0.rounded() } == expected)
        #expect(waits.allSatisfy { $0 < 600 })
        #expect(schedule.step(at: now) == .sync([server]))
        #expect(schedule.noteEnd(of: server, .synced, at: now, chance: 0) == .back)
        #expect(schedule.times(of: server)?.heard == now)
        #expect(schedule.step(at: now) == .wait(.seconds(60)))
        // The delays start again from the beginning.
        #expect(schedule.noteEnd(of: server, .failed, at: now, chance: 0) == .lost)
        #expect(schedule.step(at: now) == .wait(.milliseconds(500)))
    }

    @Test func `a commit does not bring a try with a remote that is gone forward, a hint and an unlock do`() {
        var schedule = settled([server])
        #expect(schedule.step(at: seconds(60)) == .sync([server]))
        for _ in 0..<6 { _ = schedule.noteEnd(of: server, .failed, at: seconds(60), chance: 0) }
        schedule.noteLook([server], devices: 2, hasNews: true, at: seconds(61))
        #expect(schedule.step(at: seconds(61)) == .wait(.seconds(15)))
        schedule.noteHint(of: server, at: seconds(62))
        #expect(schedule.step(at: seconds(62.1)) == .sync([server]))
        _ = schedule.noteEnd(of: server, .failed, at: seconds(63), chance: 0)
        schedule.noteLockState(at: seconds(64))
        #expect(schedule.step(at: seconds(64)) == .look)
        #expect(schedule.step(at: seconds(64)) == .sync([server]))
    }

    @Test func `what another process is in the way of comes a second later, and what was cut off at once`() {
        var schedule = settled([folder])
        #expect(schedule.step(at: seconds(30)) == .sync([folder]))
        #expect(schedule.noteEnd(of: folder, .busy, at: seconds(30), chance: 0) == nil)
        #expect(schedule.step(at: seconds(30)) == .wait(.seconds(1)))
        #expect(schedule.step(at: seconds(31)) == .sync([folder]))
        #expect(schedule.noteEnd(of: folder, .cut, at: seconds(31), chance: 0) == nil)
        #expect(schedule.step(at: seconds(31.1)) == .sync([folder]))
    }

    @Test func `a remote that is new is synced with at once, and one that is gone no more`() {
        var schedule = settled([folder])
        schedule.noteLook([folder, server], devices: 2, hasNews: false, at: seconds(3))
        #expect(schedule.step(at: seconds(3)) == .sync([server]))
        schedule.noteLook([server], devices: 2, hasNews: false, at: seconds(4))
        #expect(schedule.noteEnd(of: folder, .synced, at: seconds(4), chance: 0) == nil)
        #expect(schedule.step(at: seconds(4)) == .wait(nil))
        #expect(schedule.times(of: folder) == nil)
    }
}
