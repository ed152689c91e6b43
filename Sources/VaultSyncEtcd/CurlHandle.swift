// SPDX-License-Identifier: Apache-2.0
internal import CCurl
internal import Glibc
internal import SystemPackage
internal import VaultCrypto
internal import VaultSync

/// libcurl's open connections to a service, for one request at a time.
///
/// Only `stop()` may be called during a request.
@safe final class CurlHandle: @unchecked Sendable {
    private let handle: OpaquePointer

    /// The end of a request.
    struct Outcome {
        /// 0 if the server has answered.
        let code: Int32
        /// The HTTP status.
        let status: Int
        /// Whether a new connection was necessary.
        let isNewConnection: Bool
        /// The error text of libcurl.
        let words: String
    }

    /// - Throws: `.refused` if libcurl is missing, too old or out of memory.
    init(_ credentials: RemoteCredentials) throws(RecordStoreError) {
        switch ccurl_load() {
        case 0: break
        case -ENOENT:
            throw .refused("libcurl is missing, by which etcd is spoken to", hint: "install the package 'libcurl4'")
        default:
            throw .refused("libcurl is too old to speak to etcd by", hint: "'libcurl4' is needed, 7.68 or later")
        }
        let paths = [credentials.authorities, credentials.certificate, credentials.key].map { $0?.string }
        // The texts outlive the call, which copies them.
        let handle = unsafe Self.withText(paths[0]) { authorities in
            unsafe Self.withText(paths[1]) { certificate in
                unsafe Self.withText(paths[2]) { unsafe ccurl_open(authorities, certificate, $0) }
            }
        }
        guard let handle = unsafe handle else { throw .refused("libcurl has no memory", hint: nil) }
        unsafe self.handle = unsafe handle
    }

    deinit { unsafe ccurl_close(handle) }

    /// Posts JSON.
    ///
    /// - Parameters:
    ///   - header: a line of the request's head, with a zero byte at its end.
    ///   - isStream: whether the answer may be silent and endless.
    ///   - needsOpen: whether nothing is sent unless a connection is open.
    ///   - take: receives the parts of the answer; returns `false` to end it.
    func post(
        _ url: String, header: Secret?, _ body: Span<UInt8>, isStream: Bool, needsOpen: Bool,
        _ take: @escaping (Span<UInt8>) -> Bool
    ) -> Outcome {
        let flags = (isStream ? CCURL_STREAM : 0) | (needsOpen ? CCURL_NEEDS_OPEN : 0)
        let sink = CurlSink(take)
        var taker = unsafe ccurl_taker(
            context: Unmanaged.passUnretained(sink).toOpaque(),
            take: { context, bytes, count in
                guard let context = unsafe context else { return 1 }
                // The sink outlives the request, and the bytes outlive the call.
                let sink = unsafe Unmanaged<CurlSink>.fromOpaque(context).takeUnretainedValue()
                let part = unsafe UnsafeRawBufferPointer(start: bytes, count: count)
                return sink.take(unsafe Span(_unsafeBytes: part)) ? 0 : 1
            })
        let outcome = unsafe body.withUnsafeBytes { body in
            unsafe url.withCString { url in
                guard let header else {
                    return unsafe ccurl_post(handle, url, nil, body.baseAddress, body.count, flags, &taker)
                }
                return header.withBytes { header in
                    unsafe header.withUnsafeBytes { header in
                        let line = unsafe header.baseAddress?.assumingMemoryBound(to: CChar.self)
                        return unsafe ccurl_post(
                            handle, url, line, body.baseAddress, body.count, flags, &taker)
                    }
                }
            }
        }
        return withExtendedLifetime(sink) {
            Outcome(
                code: outcome.code, status: outcome.status, isNewConnection: outcome.connections > 0,
                words: unsafe String(cString: ccurl_error(handle)))
        }
    }

    /// Ends the current request, and every later one at once.
    func stop() { unsafe ccurl_stop(handle) }

    private static func withText<R>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> R) -> R {
        guard let text else { return body(nil) }
        return unsafe text.withCString { unsafe body($0) }
    }
}

private final class CurlSink {
    let take: (Span<UInt8>) -> Bool

    init(_ take: @escaping (Span<UInt8>) -> Bool) { self.take = take }
}

extension CurlHandle.Outcome {
    /// The error of a request; `nil` if there is an answer.
    func failure(at server: EtcdHost) -> EtcdError? {
        let host = server.name
        let said = RecordStoreError.shown(words)
        switch code {
        case 0: return nil
        case CCURL_REFUSED: return .answerTooLong
        case CCURL_NOT_OPEN: return .notOpen
        case CCURL_STOPPED: return .unreachable("\(host): the connection was ended")
        case CCURL_VERIFICATION:
            return .refused(
                "the certificate of \(host) is not that of a server known here: \(said)",
                hint: "one by an authority of your own is checked with --ca-file FILE")
        case CCURL_AUTHORITIES:
            return .refused("cannot read the file of --ca-file: \(said)", hint: nil)
        case CCURL_CERTIFICATE:
            return .refused("cannot use the certificate of this device: \(said)", hint: nil)
        default:
            if said.contains("certificate required") || said.contains("bad certificate") {
                return .refused(
                    "\(host) asks for a certificate of this device: \(said)",
                    hint: "--certificate-file FILE and --certificate-key-file FILE")
            }
            let isCutOff = code == CCURL_NOTHING || code == CCURL_RECEIVING
            let advice = isCutOff && server.isPlain ? "; if it speaks TLS: --ca-file FILE" : ""
            return .unreachable("\(host): \(said.isEmpty ? "libcurl says \(code)" : said)\(advice)")
        }
    }
}
