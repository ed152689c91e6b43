// SPDX-License-Identifier: Apache-2.0

/// An action taken on a file.
struct DoorAction: Encodable {
    enum Kind: String, Encodable {
        case wrote, masked, set
        case removed, restored, unmasked
        /// The file differs from the one that the door wrote.
        case kept
    }

    let action: Kind
    let door: Door
    let path: String
    /// The value that was set, or the reason for keeping the file.
    var detail: String?

    init(_ action: Kind, _ door: Door, _ path: String, _ detail: String? = nil) {
        (self.action, self.door, self.path, self.detail) = (action, door, path, detail)
    }

    var line: String { "\(action.rawValue) \(path.printable)\(detail.map { ": \($0.printable)" } ?? "")\n" }
}

/// Prints the actions of a run, also of one that fails halfway. They are printed once the run is over: an output that
/// cannot be written must not leave the session with half of the changes, between two keyrings.
enum DoorReport {
    /// Runs a body that reports its actions, and prints them.
    ///
    /// - Parameter done: the body's work, as a clause.
    static func printing(asJSON isJSON: Bool, _ done: String, _ body: ((DoorAction) -> Void) throws -> Void) throws {
        var actions: [DoorAction] = []
        let hint = "see 'vault doors status'"
        func print() throws {
            if isJSON { try Output.json(actions) } else { try Output.write(actions.map(\.line).joined()) }
        }
        do { try body { actions.append($0) } } catch {
            if !actions.isEmpty { try Output.after("a part is done", hint: hint, onlyWarns: true, print) }
            throw error
        }
        try Output.after(done, hint: hint, print)
    }
}
