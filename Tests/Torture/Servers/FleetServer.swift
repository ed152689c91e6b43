// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A server for the fleet's records, in a network namespace of its own.
protocol FleetServer: AnyObject, Sendable {
    static var name: String { get }
    /// The required programs that are not installed.
    static var missing: [String] { get }

    /// Sets up and starts the server in an empty directory.
    ///
    /// - Parameter command: the path of `vault`.
    init(in directory: String, command: String) throws

    /// Returns the remote for a home: some homes may remove records, the others only add them.
    func remote(of home: Int) -> Home.Remote

    func start() throws
    /// Kills the server at once, as a power cut would.
    func kill() throws
    /// Saves the server's state to a file.
    func save(to file: String) throws
    /// Restores a saved state, in place of the current state.
    ///
    /// - Parameter isRunning: whether to keep the server running meanwhile, if possible.
    func putBack(_ file: String, whileRunning isRunning: Bool) throws
    /// Returns the number of records; `nil` if the server is unreachable.
    func countRecords() -> Int?
}

extension FleetServer {
    /// Makes a certificate with the server's address, and the authority that signs it.
    static func makeCertificate(in directory: String) throws {
        func path(_ name: String) -> String { "\(directory)/\(name)" }
        try Tool.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "30", "-subj", "/CN=\(Namespace.server.address)", "-addext",
            "subjectAltName=IP:\(Namespace.server.address)", "-keyout", path("server.key"), "-out", path("server.pem"),
        ])
    }
}

/// A program in the server's namespace that can be killed and restarted.
final class Daemon: @unchecked Sendable {
    private let line: [String]
    private let log: String
    private var process: Child?
    private(set) var pid: Int32 = 0

    /// - Parameter log: the file for the program's output.
    init(_ line: [String], log: String) {
        self.line = Namespace.entering(Namespace.server.name, line)
        self.log = log
    }

    /// - Parameter isReady: polled until it returns `true`.
    func start(isReady: () -> Bool) throws {
        for _ in 0..<600 {
            let child = try Child(line[0], Array(line.dropFirst()), environment: Tool.environment, errors: log)
            while child.isRunning {
                if isReady() {
                    process = child
                    return
                }
                usleep(50_000)
            }
            // The children of a killed server must end before the next server starts.
            usleep(100_000)
        }
        let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        throw Tool.Failure(text: "\(line[3]) does not start: \(said)")
    }

    /// Kills the program and its children.
    func kill() {
        guard let process else { return }
        _ = try? Tool.run(["pkill", "-KILL", "-P", "\(process.identifier)"])
        _ = process.kill()
        _ = process.wait()
        self.process = nil
    }
}
