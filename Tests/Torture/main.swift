// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestSupport
import Vault

// Tests a vault under many concurrent processes, some of which are killed, and under failing system calls:
// `Scripts/crash --races`, `--kill`, `--faults` and `--fleet`, and `Scripts/fleet`.
//
//   vault-torture races DIRECTORY PROCESSES THREADS SECONDS
//   vault-torture kill DIRECTORY CYCLES
//   vault-torture faults DIRECTORY VAULT-COMMAND [all]
//   vault-torture fleet DIRECTORY VAULT-COMMAND DEVICES WRITES [hostile] [agents|no-agents]
//   vault-torture servers DIRECTORY VAULT-COMMAND postgres|etcd DEVICES WRITES
//   vault-torture cost DIRECTORY ITEMS make|VERB COUNT
//   vault-torture reach DIRECTORY add ITEMS | initial ITEMS | change DEVICES | devices COUNT WRITES
//   vault-torture remote DIRECTORY URL
//
// The program starts itself as its workers: `work` and `write`. `make` and `check` serve Scripts/powercut, and `watch`
// and `change` a test of the cost of waiting.

let arguments = Array(CommandLine.arguments.dropFirst())
func number(_ index: Int) -> Int { arguments.count > index ? Int(arguments[index]) ?? 0 : 0 }

guard arguments.count >= 2 else {
    say(
        """
        usage: vault-torture races DIRECTORY PROCESSES THREADS SECONDS | kill DIRECTORY CYCLES | faults DIRECTORY \
        COMMAND [all]
        """
    )
    exit(2)
}
let scratch = Scratch(directory: arguments[1])
do {
    switch arguments[0] {
    case "races": exit(try Races(scratch, processes: number(2), threads: number(3), seconds: number(4)).run() ? 0 : 1)
    case "kill": exit(try Kills(scratch, cycles: number(2)).run() ? 0 : 1)
    case "faults":
        let faults = Faults(
            scratch: scratch, binary: arguments.count > 2 ? arguments[2] : "vault", isThorough: arguments.last == "all")
        exit(try faults.run() ? 0 : 1)
    case "work":
        try Worker(scratch, name: arguments[2], threads: number(3), seconds: number(4), lifetime: number(5)).run()
    case "cost":
        let costs = Costs(directory: arguments[1], items: number(2))
        if arguments.count == 4 { try costs.make() } else if try !costs.run(arguments[3], number(4)) { exit(2) }
    case "make": try scratch.make().close()
    case "check":
        var names: [String] = []
        while let name = readLine() { names.append(name) }
        exit(try Kills.check(scratch, names) == 0 ? 0 : 1)
    case "fleet":
        guard number(3) > 0 else { exit(2) }
        var trial = try FleetTrial(
            directory: arguments[1], command: arguments[2], devices: number(3),
            isHostile: arguments.contains("hostile"),
            agents: arguments.contains("agents") ? .all : arguments.contains("no-agents") ? .none : .half)
        exit(try trial.run(writes: number(4)) ? 0 : 1)
    case "servers":
        guard number(4) > 1, number(5) > 0 else { exit(2) }
        guard arguments.last == "secluded" else {
            say("fleet: \(try Namespace.seclude(arguments + ["secluded"]))")
            exit(1)
        }
        let trial = try ServerTrial(
            directory: arguments[1], command: arguments[2], engine: arguments[3], homes: number(4), writes: number(5))
        guard var trial else { exit(2) }
        exit(try trial.run() ? 0 : 1)
    case "reach": if try !Reach(directory: arguments[1]).run(arguments[2], number(3), number(4)) { exit(2) }
    case "remote": try RemoteCosts(directory: arguments[1], url: arguments[2]).run()
    case "watch": try Watching.run(scratch)
    case "change": try Watching.change(scratch)
    case "write": try Kills.write(scratch, cycle: number(2))
    default: exit(2)
    }
} catch {
    say("\(arguments[0]): \(error)")
    exit(3)
}
