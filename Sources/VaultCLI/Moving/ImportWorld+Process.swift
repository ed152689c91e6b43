// SPDX-License-Identifier: Apache-2.0
internal import Synchronization
internal import Vault
internal import VaultCrypto
internal import VaultFormat
internal import VaultImport

extension ImportWorld {
    /// The maximum size of an export in one file.
    static let fileLimit = 256 << 20

    /// Returns the system services of this process, with a receiver of the progress of a format, from 0 to 1.
    static func ofProcess(_ progress: @escaping @Sendable (Double) -> Void) -> ImportWorld {
        let hasRunOne = Atomic(false)
        return ImportWorld(
            run: { arguments, input, output in
                func run() throws -> Ended {
                    let ended = try Helper(arguments).converse(input, output)
                    return Ended(status: ended?.status, message: ended?.message ?? "")
                }
                // The first run of a program may ask for a passphrase at the terminal, as gpg does.
                return try hasRunOne.exchange(true, ordering: .relaxed) ? run() : Progress.held(run)
            },
            read: { path in
                let tooLong = ImportError.tooLarge(nil)
                return Secret(try SecretReader.read(file: path, limit: Layout.valueLimit, tooLong: tooLong))
            },
            files: { directory in
                var unreadable: [String] = []
                let names = try FileTree.names(below: directory) { unreadable.append($0) }
                return (names, unreadable)
            },
            withScratch: { body in try Scratch.withPath { try body($0) } },
            write: { bytes, path in try bytes.withBytes { try Scratch.write($0, to: path) } }, progress: progress)
    }
}

extension CommandError {
    /// - Parameter source: the name of the file that was read or written, for display.
    init(_ error: ImportError, of source: String) {
        let name = "'\(source.printable)'"
        switch error {
        case .malformed(let place, let flaw):
            let where_ = place.map { "\($0.printable): " } ?? ""
            self.init(.failure, "\(name), \(where_)\(flaw)", hint: "nothing was imported")
        case .tooLarge(let place):
            let where_ = place.map { ", \($0.printable)," } ?? ""
            self.init(
                .failure, "\(name)\(where_) has more bytes than an item or an export may have",
                hint: "nothing was imported")
        case .otherFormat(let flaw, let hint): self.init(.failure, "\(name): \(flaw)", hint: hint)
        case .wrongPassphrase: self.init(.wrongPassphrase, "wrong passphrase of \(name)")
        case .tooExpensive:
            self.init(.failure, "\(name) asks for a key derivation beyond the limits of every product")
        case .missing(let what, let package):
            self.init(.failure, "\(what) is not there", hint: "install it: 'apt install \(package)'")
        case .program(let program, let place, let hint):
            let where_ = place.map { " at \($0.printable)" } ?? ""
            self.init(.failure, "'\(program)' failed\(where_)", hint: hint)
        case .service(let flaw, let hint): self.init(.failure, flaw, hint: hint)
        case .cryptography(let error): self.init(error)
        case .outside(let error):
            self = CommandLineTool.failure(error) ?? CommandError(.failure, "the import failed")
        }
    }
}
