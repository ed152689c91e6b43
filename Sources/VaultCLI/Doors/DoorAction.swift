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

/// Prints actions as they are taken: if a run fails halfway, the user sees how far it came.
struct DoorReport {
    private let isJSON: Bool
    private var actions: [DoorAction] = []

    /// Runs a body that reports its actions, and prints them.
    static func printing(asJSON isJSON: Bool, _ body: ((DoorAction) throws -> Void) throws -> Void) throws {
        var report = DoorReport(isJSON: isJSON)
        do { try body { try report.add($0) } } catch {
            if !report.actions.isEmpty { try report.finish() }
            throw error
        }
        try report.finish()
    }

    private init(isJSON: Bool) { self.isJSON = isJSON }

    private mutating func add(_ action: DoorAction) throws {
        actions.append(action)
        if !isJSON { try Output.write(action.line) }
    }

    private func finish() throws {
        if isJSON { try Output.json(actions) }
    }
}
