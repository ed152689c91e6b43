// SPDX-License-Identifier: Apache-2.0
public import Foundation

/// A key. There are none here: key items are records, and calls that would make one end with errSecUnimplemented.
public final class SecKey: NSObject, @unchecked Sendable {
    override private init() {}
}

/// A certificate with its private key. There are none here, as there are no keys.
public final class SecIdentity: NSObject, @unchecked Sendable {
    override private init() {}
}
