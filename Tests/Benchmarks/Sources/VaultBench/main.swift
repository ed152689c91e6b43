// SPDX-License-Identifier: Apache-2.0
import Foundation

// Measures the library in one process, beside the limits of the machine and beside databases:
//
//   VaultBench run DIRECTORY ROUNDS SIZE…
//       one line of JSON: for each measure the medians of its rounds, in nanoseconds
//   VaultBench agent SERVICE ACCOUNT COUNT
//       the mean of this number of gets with the secret, over one connection to the agent
//   VaultBench keys COUNT
//       one line of JSON: the means of this number of signatures and new keys
//   VaultBench digests COUNT
//       one line of JSON: the means of this number of digests and encryptions, and of a thousand times as many codes
//   VaultBench memory DIRECTORY SIZE
//       resident bytes of a process with the vault open, minus those of a process with an empty vault
//
// Every round runs a part of each measure, so that varying load on the machine affects all measures alike.

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.count == 2, arguments[0] == "keys" {
    try measureKeys(count: Int(arguments[1]) ?? 1)
    exit(0)
}
if arguments.count == 2, arguments[0] == "digests" {
    try measureDigests(count: Int(arguments[1]) ?? 1)
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
