// SPDX-License-Identifier: Apache-2.0
internal import Vault
internal import VaultAgent

// The first request of a connection, which determines the client's rights.

extension Session {
    /// Inspects the greeting process and the one that it speaks for, which may take a moment.
    func meet(_ hello: any Hello, _ number: UInt32) {
        guard hello.greeting.vault.isEmpty || server.settings.isVault(hello.greeting.vault) else {
            return refuse(.agent(.otherVault), number: number)
        }
        phase = .busy
        server.look(at: process, handle) { [server, here] process in
            guard let behalf = (hello as? BehalfHelloRequest)?.behalf else {
                return here.execute { $0.greet(hello, process, nil, number) }
            }
            RepresentedProcess.find(behalf, allows: server.settings.allows) { represented in
                here.execute { $0.greet(hello, process, represented, number) }
            }
        }
    }

    private func greet<Request: Hello>(
        _ hello: Request, _ process: ClientProcess, _ represented: RepresentedProcess?, _ number: UInt32
    ) {
        guard case .busy = phase else { return }
        let greeting = hello.greeting
        (self.process, self.represented) = (process, represented)
        guard represented != nil || !(hello is BehalfHelloRequest) else {
            let door = Caller(process: process, access: .none, groups: [], purpose: greeting.purpose)
            server.answers.audit?.noteRefusal(of: door, .agent(.refused), "no such process to speak for")
            return refuse(.agent(.refused), number: number)
        }
        let caller = server.caller(
            represented?.process ?? process, through: represented.map { _ in process },
            groups: greeting.groups.map { AccessGroups($0) }, isNamed: Request.namesGroups, greeting.purpose)
        self.caller = caller
        reply([StatusReply(server.status(for: caller))], number)
    }
}
