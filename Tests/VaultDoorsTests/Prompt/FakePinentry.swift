import Foundation
import SystemPackage
import TestSupport
import VaultCrypto
import VaultFormat

@testable import VaultDoorKit

/// A scripted pinentry that records its input.
struct FakePinentry {
    let directory: TemporaryDirectory

    /// - Parameters:
    ///   - flavor: The answer to `GETINFO flavor`.
    ///   - pin: Shell code that answers `GETPIN`.
    ///   - start: Shell code in place of the greeting.
    init(flavor: String = "gnome3", pin: String = "echo OK", start: String = "echo 'OK Pleased to meet you'") throws {
        directory = try TemporaryDirectory()
        let script = """
            #!/bin/bash
            cd "$(dirname "$0")"
            env > environment
            echo $$ > process
            \(start)
            while IFS= read -r line; do
                printf '%s\\n' "$line" >> heard
                case "$line" in
                'GETINFO flavor') echo 'D \(flavor)'; echo OK ;;
                'OPTION lc-ctype'*) echo 'ERR 83886254 Unknown option <Pinentry>' ;;
                GETPIN) tries=$((tries + 1)); \(pin) ;;
                CONFIRM) \(pin) ;;
                *) echo OK ;;
                esac
            done
            """
        try directory.write(Array(script.utf8), to: "pinentry")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
    }

    var program: String { directory.path.appending("pinentry").string }

    func text(_ name: String) throws -> String { String(decoding: try directory.read(name), as: UTF8.self) }

    var heard: [String] { ((try? text("heard")) ?? "").split(separator: "\n").map(String.init) }

    /// - Parameter variables: The environment besides PATH.
    func start(
        _ variables: [String: String] = ["DISPLAY": ":7"], patience: (answer: Int, command: Int) = (60, 60)
    ) throws(PromptError) -> Pinentry {
        var environment = ["PATH": "/usr/bin:/bin"]
        environment.merge(variables) { $1 }
        return try Prompter(PromptPlace { environment[$0] }, program: program, patience: patience).start()
    }
}

extension SecretBytes {
    var text: String { withBytes { String(decoding: $0.array($0.indices), as: UTF8.self) } }
}
