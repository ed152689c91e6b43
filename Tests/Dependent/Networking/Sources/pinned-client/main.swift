// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file
import AsyncHTTPClient
import Foundation
import NIOSSL

// Fetches a page with AsyncHTTPClient, from a server whose chain ends at a given certificate.
//
//   pinned-client URL CERTIFICATES.pem

let (url, file) = (CommandLine.arguments[1], CommandLine.arguments[2])

// AsyncHTTPClient

var tls = TLSConfiguration.makeClientConfiguration()
tls.trustRoots = .file(file)
let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: .init(tlsConfiguration: tls))

// Program

let answer: String
do {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
    answer = String(response.status.code)
} catch { answer = "refused" }
try await client.shutdown()
print(answer)
exit(answer == "refused" ? 1 : 0)
