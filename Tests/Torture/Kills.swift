// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault

/// A writer that is repeatedly killed at a random moment.
struct Kills {
    let scratch: Scratch
    let cycles: Int

    init(_ scratch: Scratch, cycles: Int) { (self.scratch, self.cycles) = (scratch, cycles) }

    /// Runs the writer, which acknowledges each stored item on standard output.
    static func write(_ scratch: Scratch, cycle: Int) throws {
        let vault = try scratch.open()
        for count in 0... {
            let name = "\(cycle)/\(count)"
            try vault.set(Item(.genericPassword(service: "kill", account: name), secret: try Secret(text: name)))
            try vault.set(Item(.genericPassword(service: "counter", account: "last"), secret: try Secret(text: name)))
            say(name)
            if count % 16 == 15 { try vault.compact() }
            // Deletes old items to keep the file small.
            if count > 40 {
                try vault.delete(matching: Query(.genericPassword, service: "kill", account: "\(cycle)/\(count - 41)"))
            }
        }
    }

    /// Checks for the acknowledged items, writes once more, and returns the number of lost items.
    static func check(_ scratch: Scratch, _ names: [String]) throws -> Int {
        let vault = try scratch.open()
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
        try scratch.make().close()
        var (acknowledged, lost) = (0, 0)
        for cycle in 0..<cycles {
            let pipe = Pipe()
            let process = Process()
            process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
            process.arguments = ["write", scratch.directory, "\(cycle)"]
            process.standardOutput = pipe
            try process.run()
            // Kills the writer after this number of acknowledgements, in the middle of the next operation; some writers
            // die while they open the vault.
            let moment = Int.random(in: 0...40)
            var output = Data()
            while output.count(where: { $0 == UInt8(ascii: "\n") }) < moment,
                case let more = pipe.fileHandleForReading.availableData,
                !more.isEmpty
            {
                output += more
            }
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            output += try pipe.fileHandleForReading.readToEnd() ?? Data()
            // The last line may be incomplete.
            let lines = output.lastIndex(of: UInt8(ascii: "\n")).map { output[...$0] } ?? Data()
            let names = String(decoding: lines, as: UTF8.self).split(separator: "\n").map(String.init)
            acknowledged += names.count
            lost += try Kills.check(scratch, names)
        }
        say("kill: \(cycles) killed writers, \(acknowledged) acknowledged writes, \(lost) lost")
        return lost == 0 && acknowledged > cycles
    }
}
