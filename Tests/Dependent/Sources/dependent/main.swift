// SPDX-License-Identifier: Apache-2.0
import Foundation

// Runs a user's program, built as a user builds it. The argument is the command to test against.
//
//   dependent VAULT              everything
//   dependent VAULT case ID      one row of the table of Apple's behaviour, in the given environment

let arguments = CommandLine.arguments
guard arguments.count >= 2 else {
    FileHandle.standardError.write(Data("usage: dependent VAULT\n".utf8))
    exit(64)
}
let command = Command(path: arguments[1])

if arguments.count == 4, arguments[2] == "case" {
    do { exit(try EnvironmentWorld.run(caseNamed: arguments[3], command)) } catch {
        print("\(error)")
        exit(1)
    }
}
var failed = 0
for (name, check) in [
    ("cases", Cases.run), ("examples", Examples.run), ("articles", Articles.run), ("opening", Opening.run),
    ("verbs", Verbs.run), ("groups", Groups.run),
    ("property lists", PlistProgram.run), ("user data", UserDataProgram.run),
    ("own defaults", MyUserDefaultProgram.run), ("archives", ArchiveProgram.run),
    ("keychain", KeychainProgram.run),
    ("older sources", Older.run),
    ("threads", Threads.run), ("stacks", Stacks.run),
] {
    do {
        let failures = try check(command)
        for failure in failures { print("dependent: \(name): \(failure)") }
        print("dependent: \(name): \(failures.isEmpty ? "all as it should be" : "\(failures.count) failed")")
        failed += failures.count
    } catch {
        print("dependent: \(name): \(error)")
        failed += 1
    }
}
exit(failed == 0 ? 0 : 1)
