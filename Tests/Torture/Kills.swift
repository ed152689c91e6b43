// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault

/// A writer that is killed at a random moment, again and again.
struct Kills {
    let place: Place
    let cycles: Int

    init(_ place: Place, cycles: Int) { (self.place, self.cycles) = (place, cycles) }

    /// The writer: it acknowledges each item on standard output once it is stored.
    static func write(_ place: Place, cycle: Int) throws {
        let vault = try place.open()
        for count in 0... {
            let name = "\(cycle)/\(count)"
            try vault.set(Item(.genericPassword(service: "kill", account: name), secret: try Secret(text: name)))
            try vault.set(Item(.genericPassword(service: "counter", account: "last"), secret: try Secret(text: name)))
            say(name)
            if count % 16 == 15 { try vault.compact() }
            // Old items go, so that the file stays small.
            if count > 40 { try vault.delete(matching: Query(.genericPassword, service: "kill", account: "\(cycle)/\(count - 41)")) }
        }
    }

    /// Looks for what was acknowledged, writes once more, and returns how much of it is lost.
    static func check(_ place: Place, _ names: [String]) throws -> Int {
        let vault = try place.open()
        var lost = 0
        for name in names.suffix(40) {
            var query = Query(.genericPassword, service: "kill", account: name)
            query.returnsSecrets = true
            if (try? vault.copyMatching(query).first?.text) != name {
                say("kill: \(name) was acknowledged and is lost")
                lost += 1
            }
        }
        _ = try vault.verify(deep: true)
        _ = try? vault.delete(matching: Query(.genericPassword, service: "kill"))
        vault.close()
        return lost
    }

    func run() throws -> Bool {
        try place.make().close()
        var (acknowledged, lost) = (0, 0)
        for cycle in 0..<cycles {
            let pipe = Pipe()
            let process = Process()
            process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
            process.arguments = ["write", place.directory, "\(cycle)"]
            process.standardOutput = pipe
            try process.run()
            // Some die while they open the vault.
            usleep(useconds_t.random(in: 3_000...60_000))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            let lines = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            let names = lines.split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
            acknowledged += names.count
            lost += try Kills.check(place, names)
        }
        say("kill: \(cycles) killed writers, \(acknowledged) acknowledged writes, \(lost) lost")
        return lost == 0
    }
}
