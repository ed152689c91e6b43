// SPDX-License-Identifier: Apache-2.0
internal import VaultAgent
package import VaultLoop

extension Places.Processes {
    /// The processes that a door's clients are.
    package static let ofMachine = Places.Processes(age: ProcessTable.age(of:), unit: ProcessTable.unit(of:))
}
