// SPDX-License-Identifier: Apache-2.0
import TestSupport

@testable import VaultFormat

// Initializers from arrays: the macros of Swift Testing cannot pass a span on.

extension AuthenticatorData {
    init?(bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        self.init(bytes.span)
    }
}

extension AttestationObject {
    init?(bytes: [UInt8]) { self.init(bytes.span) }
}

extension COSEKey {
    init?(point: [UInt8]) { self.init(p256: point.span) }
}

extension PKCS8PrivateKey {
    init?(bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)
        self.init(bytes.span)
    }
}

extension RSAKeyNumbers {
    init?(bytes: [UInt8], in place: Range<Int>, isPrivate: Bool) {
        self.init(bytes.span, in: place, isPrivate: isPrivate)
    }
}
