// SPDX-License-Identifier: Apache-2.0
internal import Foundation
@_implementationOnly import Vault

/// Checks each object before `NSKeyedArchiver` encodes it.
///
/// Foundation's archiver (swift-corelibs-foundation of Swift 6.3.1) terminates the process on an object without
/// `NSSecureCoding`, on a class whose name is not `Module.Class`, and on a chain of objects deeper than the stack. Such
/// an object, and with it the whole archive, is refused here.
final class SecureArchiver: NSKeyedArchiverDelegate {
    private var isRefused = false
    /// The objects whose parts are being encoded.
    private var open: [ObjectIdentifier] = []

    static func data(of object: any NSObject & NSSecureCoding) throws(SecureArchiveError) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        let guardian = SecureArchiver()
        archiver.delegate = guardian
        archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
        guard !guardian.isRefused, archiver.error == nil else { throw .notEncodable }
        return archiver.encodedData
    }

    func archiver(_ archiver: NSKeyedArchiver, willEncode object: Any) -> Any? {
        let instance = object as AnyObject
        guard isEncodable(instance), open.count < SecretValue.deepest else {
            isRefused = true
            // Foundation cannot encode the `nil` that a delegate may return.
            return NSNull()
        }
        // A value type has another identity when its encoding ends, but it has no parts either.
        if type(of: object) is AnyClass { open.append(ObjectIdentifier(instance)) }
        return object
    }

    func archiver(_ archiver: NSKeyedArchiver, didEncode object: Any?) {
        guard let object, let place = open.lastIndex(of: ObjectIdentifier(object as AnyObject)) else { return }
        // Also removes later objects: those encoded conditionally, without effect, have no call of this method.
        open.removeSubrange(place...)
    }

    private func isEncodable(_ object: AnyObject) -> Bool {
        guard let object = object as? any NSSecureCoding, type(of: object).supportsSecureCoding else { return false }
        var named: AnyClass? = (object as? NSObject)?.classForKeyedArchiver ?? type(of: object as AnyObject)
        while let type = named {
            guard String(reflecting: type).utf8.count(where: { $0 == UInt8(ascii: ".") }) == 1 else { return false }
            named = _getSuperclass(type)
        }
        return true
    }

    func archiver(_ archiver: NSKeyedArchiver, willReplace object: Any?, withObject newObject: Any?) {}
    func archiverWillFinish(_ archiver: NSKeyedArchiver) {}
    func archiverDidFinish(_ archiver: NSKeyedArchiver) {}
}
