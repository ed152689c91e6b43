// SPDX-License-Identifier: Apache-2.0
/// A door that a process opens, and keeps open until it ends.
struct DoorServing {
    enum Audience {
        /// Services without a person, which are never prompted for.
        case units
        /// Programs of a person, who can be asked where this process was started.
        case people
        /// Programs of the session to which the bus belongs.
        case session
    }

    let audience: Audience
    /// Opens the door.
    ///
    /// - Parameter end: ends the process; called when the door cannot go on.
    let open: (_ house: VaultHouse, _ end: @escaping @Sendable (CommandError) -> Void) throws -> any OpenedDoor
}

/// A door that serves programs until it is closed.
protocol OpenedDoor: AnyObject {
    /// Ends the prompts of the door, whose answers would go nowhere, and removes its socket.
    func close()
}
