// SPDX-License-Identifier: Apache-2.0
import Foundation

// What the library costs in one process, beside what the machine can do and what databases do:
//
//   VaultBench run DIRECTORY ROUNDS SIZE…
//       one line of JSON: for each measure the medians of its rounds, in nanoseconds
//   VaultBench agent SERVICE ACCOUNT COUNT
//       the mean of so many gets, the secret with them, over one connection to the agent
//   VaultBench keys COUNT
//       one line of JSON: the means of so many signatures and new keys
//   VaultBench memory DIRECTORY SIZE
//       resident bytes of a process that has the vault open, less those of one with an empty vault
//
// The measures take turns, a little of each in every round, so that all of them meet the same weather.

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.count == 2, arguments[0] == "keys" {
    try measureKeys(count: Int(arguments[1]) ?? 1)
    exit(0)
}
guard arguments.count >= 3 else {
    FileHandle.standardError.write(
        Data(
            "usage: VaultBench run DIRECTORY ROUNDS SIZE… | agent SERVICE ACCOUNT COUNT | memory DIRECTORY SIZE\n".utf8)
    )
    exit(2)
}
if arguments[0] == "agent", arguments.count == 4 {
    try measureAgent(service: arguments[1], account: arguments[2], count: Int(arguments[3]) ?? 1)
    exit(0)
}
let world = World(directory: arguments[1])
switch arguments[0] {
case "memory":
    let vault = try world.open(Int(arguments[2]) ?? 0)
    _ = try vault.copyMatching(World.query(0))
    print(residentBytes())
default:
    let sizes = arguments.dropFirst(3).compactMap { Int($0) }
    try Measures(world, sizes: sizes).run(rounds: Int(arguments[2]) ?? 1)
}
