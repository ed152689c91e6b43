// SPDX-License-Identifier: Apache-2.0
// swift-format-ignore-file
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
#if canImport(Security)
import Security
#else
import KeychainServices
#endif

// Connects with NIOSSL to a server that has a given key, under a certificate that SecTrust accepts.
//
//   pinned-channel HOST PORT ANCHOR.der KEY.der

let arguments = CommandLine.arguments
let (host, port) = (arguments[1], Int(arguments[2])!)
let anchor = SecCertificateCreateWithData(nil, try Data(contentsOf: URL(filePath: arguments[3])) as CFData)!
let pin = try Data(contentsOf: URL(filePath: arguments[4]))

// NIOSSL

func isPinned(_ chain: [SecCertificate], _ host: String) -> Bool {
    var trust: SecTrust?
    SecTrustCreateWithCertificates(chain as CFArray, SecPolicyCreateSSL(true, host as CFString), &trust)
    guard let trust else { return false }
    SecTrustSetAnchorCertificates(trust, [anchor] as CFArray)
    guard SecTrustEvaluateWithError(trust, nil), let key = SecTrustCopyKey(trust) else { return false }
    return SecKeyCopyExternalRepresentation(key, nil) as Data? == pin
}

let context = try NIOSSLContext(configuration: .makeClientConfiguration())
let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).channelInitializer { channel in
    channel.eventLoop.makeCompletedFuture {
        let handler = try NIOSSLClientHandler(
            context: context, serverHostname: host,
            customVerificationCallback: { certificates, promise in
                let chain = certificates.compactMap {
                    (try? $0.toDERBytes()).flatMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
                }
                promise.succeed(isPinned(chain, host) ? .certificateVerified : .failed)
            })
        try channel.pipeline.syncOperations.addHandlers(handler, Handshake())
    }
}

// Program

/// Ends the program with what became of the handshake.
final class Handshake: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event {
            print("accepted")
            exit(0)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        print("refused")
        exit(1)
    }
}

do { try await bootstrap.connect(host: host, port: port).flatMap(\.closeFuture).get() } catch {}
print("refused")
exit(1)
