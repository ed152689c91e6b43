// SPDX-License-Identifier: Apache-2.0

/// Names a connection on any thread.
struct SessionHandle: Sendable {
    let connections: Connections
    let number: Int

    /// Runs a closure with the connection on its thread, unless the connection has ended.
    func execute(_ body: @escaping @Sendable (Session) -> Void) { connections.execute(number, body) }
}
