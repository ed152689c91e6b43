// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A server of the fleet's records in the namespace of its own.
protocol FleetServer: AnyObject, Sendable {
    static var name: String { get }
    /// What it takes that is not installed.
    static var missing: [String] { get }

    /// Makes and starts it. The directory is there, and empty.
    ///
    /// - Parameter command: `vault`.
    init(in directory: String, command: String) throws

    /// How a home gets there. Each home has the rights of one that also removes, or only adds.
    func remote(of home: Int) -> Home.Remote

    func start() throws
    /// Ends it at once, as a power cut does.
    func kill() throws
    /// Puts all that it has into a file.
    func save(to file: String) throws
    /// Puts back what a file has, in the place of all that the server has.
    ///
    /// - Parameter isRunning: whether the server goes on meanwhile, if it can.
    func putBack(_ file: String, whileRunning isRunning: Bool) throws
    /// How many records it has; nil: it is away.
    func countRecords() -> Int?
}

extension FleetServer {
    /// The authority of the server's certificate, which names the server's address.
    static func makeCertificate(in directory: String) throws {
        func path(_ name: String) -> String { "\(directory)/\(name)" }
        try Tool.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "30", "-subj", "/CN=\(Namespace.server.address)", "-addext",
            "subjectAltName=IP:\(Namespace.server.address)", "-keyout", path("server.key"), "-out", path("server.pem"),
        ])
    }
}

/// A program in the server's namespace that is killed, and started again.
final class Daemon: @unchecked Sendable {
    private let line: [String]
    private let log: String
    private var process: Child?
    private(set) var pid: Int32 = 0

    /// - Parameter log: a file for what it says.
    init(_ line: [String], log: String) {
        self.line = Namespace.entering(Namespace.server.name, line)
        self.log = log
    }

    /// - Parameter isReady: asked until it is true.
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
            // A killed server's children have to end before another one begins.
            usleep(100_000)
        }
        let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        throw Tool.Failure(text: "\(line[3]) does not start: \(said)")
    }

    /// Kills it with its children.
    func kill() {
        guard let process else { return }
        _ = try? Tool.run(["pkill", "-KILL", "-P", "\(process.identifier)"])
        _ = process.kill()
        _ = process.wait()
        self.process = nil
    }
}
