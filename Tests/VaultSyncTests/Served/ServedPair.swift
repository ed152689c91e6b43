// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import SystemPackage
import TestSupport
import VaultFormat
import VaultSystem

@testable import VaultSync

/// Both ends of a connection, in one process.
enum ServedPair {
    /// A peer that is known only by its pipes.
    struct Peer: ServedPeer {
        func reason(of failure: PipeFailure) -> RecordStoreError { .unreachable("\(failure)") }
        func end() {}
    }

    /// Both ends of a pipe, each to be closed by its number.
    static func pipe() throws(Errno) -> (reading: Int32, writing: Int32) {
        let ends = try DescriptorPair()
        return (ends.reading.take(), ends.writing.take())
    }

    /// Runs the other side on its own thread, which closes its ends when finished.
    static func connection(
        patience: Duration, _ other: @escaping @Sendable (_ input: Int32, _ output: Int32) -> Void
    ) throws(RecordStoreError) -> ServedConnection {
        let pipes: FramePipes
        do throws(Errno) {
            let (there, back) = (try pipe(), try pipe())
            DispatchQueue(label: "other side").async {
                other(there.reading, back.writing)
                close(there.reading)
                close(back.writing)
            }
            pipes = try FramePipes(
                owning: Descriptor(owning: back.reading), Descriptor(owning: there.writing), patience: patience)
        } catch { throw .inputOutput(error, "pipes") }
        return try ServedConnection(pipes, with: Peer())
    }

    /// - Parameter directory: kept as long as the link.
    static func link(
        to root: FilePath, _ rules: RecordServer.Rules = .init(), keeping directory: TemporaryDirectory? = nil
    ) -> ServedLink {
        ServedLink { () throws(RecordStoreError) in
            try connection(patience: .seconds(30)) { input, output in
                withExtendedLifetime(directory) {
                    _ = try? RecordServer(root, rules, input: input, output: output).run()
                }
            }
        }
    }
}
