// SPDX-License-Identifier: Apache-2.0
// Apple's headers without nullability annotations are imported with `!`, on which client sources rely.
// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals
public import Foundation

// Core Foundation's names, as Foundation's classes where there is no Core Foundation, so that `as` bridges in both
// directions.

public typealias CFTypeRef = AnyObject
public typealias CFString = NSString
public typealias CFDictionary = NSDictionary
public typealias CFMutableDictionary = NSMutableDictionary
public typealias CFArray = NSArray
public typealias CFMutableArray = NSMutableArray
public typealias CFSet = NSSet
public typealias CFData = NSData
public typealias CFMutableData = NSMutableData
public typealias CFDate = NSDate
public typealias CFNumber = NSNumber
public typealias CFBoolean = NSNumber
public typealias CFError = NSError
public typealias CFErrorDomain = NSString
public typealias CFNull = NSNull
public typealias CFURL = NSURL

public typealias CFIndex = Int
public typealias CFOptionFlags = UInt
public typealias CFTypeID = UInt
public typealias CFHashCode = UInt
public typealias CFAbsoluteTime = Double
public typealias CFTimeInterval = Double

// The type of kSecAttrCreator and kSecAttrType.
public typealias FourCharCode = UInt32
public typealias OSType = FourCharCode

// Apple's names for numbers, of which Foundation has none without Darwin.
public typealias NSInteger = Int
public typealias NSUInteger = UInt
public typealias SInt8 = Int8
public typealias SInt16 = Int16
public typealias SInt32 = Int32
public typealias SInt64 = Int64
public typealias OSErr = Int16
public typealias NSTimeInterval = Double

/// C's `bool`, for which Foundation has another name without Darwin.
public typealias DarwinBoolean = ObjCBool

/// An allocator that allocates nothing: pass `nil` or ``kCFAllocatorDefault``.
public final class CFAllocator: NSObject, @unchecked Sendable {
    fileprivate static let null = CFAllocator()

    override private init() {}
}

public var kCFAllocatorDefault: CFAllocator! { nil }
/// An allocator that frees nothing: the memory belongs to the caller.
public var kCFAllocatorNull: CFAllocator! { CFAllocator.null }
public var kCFBooleanTrue: CFBoolean! { NSNumber(value: true) }
public var kCFBooleanFalse: CFBoolean! { NSNumber(value: false) }
public var kCFNull: CFNull! { NSNull() }
public var kCFErrorDomainOSStatus: CFErrorDomain! { NSOSStatusErrorDomain as NSString }

public var kCFBundleIdentifierKey: CFString! { "CFBundleIdentifier" }
public var kCFBundleNameKey: CFString! { "CFBundleName" }
public var kCFBundleVersionKey: CFString! { "CFBundleVersion" }
public var kCFBundleExecutableKey: CFString! { "CFBundleExecutable" }

public func CFGetTypeID(_ object: CFTypeRef!) -> CFTypeID {
    switch object {
    case is NSString: CFStringGetTypeID()
    case is NSDictionary: CFDictionaryGetTypeID()
    case is NSArray: CFArrayGetTypeID()
    case is NSData: CFDataGetTypeID()
    case is NSDate: CFDateGetTypeID()
    case let number as NSNumber: isBoolean(number) ? CFBooleanGetTypeID() : CFNumberGetTypeID()
    case is NSError: CFErrorGetTypeID()
    case is NSNull: CFNullGetTypeID()
    case is SecAccessControl: SecAccessControlGetTypeID()
    case is SecCertificate: SecCertificateGetTypeID()
    case is SecKey: SecKeyGetTypeID()
    case is SecIdentity: SecIdentityGetTypeID()
    case is SecPolicy: SecPolicyGetTypeID()
    case is SecTrust: SecTrustGetTypeID()
    default: 1
    }
}

// The numbers are only compared with each other; 0 is not a type.

public func CFStringGetTypeID() -> CFTypeID { 2 }
public func CFDictionaryGetTypeID() -> CFTypeID { 3 }
public func CFArrayGetTypeID() -> CFTypeID { 4 }
public func CFDataGetTypeID() -> CFTypeID { 5 }
public func CFDateGetTypeID() -> CFTypeID { 6 }
public func CFNumberGetTypeID() -> CFTypeID { 7 }
public func CFBooleanGetTypeID() -> CFTypeID { 8 }
public func CFErrorGetTypeID() -> CFTypeID { 9 }
public func CFNullGetTypeID() -> CFTypeID { 10 }
public func SecAccessControlGetTypeID() -> CFTypeID { 11 }
public func SecCertificateGetTypeID() -> CFTypeID { 12 }
public func SecKeyGetTypeID() -> CFTypeID { 13 }
public func SecIdentityGetTypeID() -> CFTypeID { 14 }
public func SecPolicyGetTypeID() -> CFTypeID { 15 }
public func SecTrustGetTypeID() -> CFTypeID { 16 }

public func CFEqual(_ a: CFTypeRef!, _ b: CFTypeRef!) -> Bool { (a as? NSObject)?.isEqual(b) ?? false }

public func CFHash(_ object: CFTypeRef!) -> CFHashCode {
    (object as? NSObject).map { CFHashCode(bitPattern: $0.hash) } ?? 0
}

public func CFBooleanGetValue(_ boolean: CFBoolean!) -> Bool { boolean.boolValue }

public func CFErrorCreate(
    _ allocator: CFAllocator!, _ domain: CFErrorDomain!, _ code: CFIndex, _ userInfo: CFDictionary!
) -> CFError! {
    NSError(domain: domain as String, code: code, userInfo: userInfo as? [String: Any])
}

public func CFErrorGetDomain(_ error: CFError!) -> CFErrorDomain! { error.domain as NSString }
public func CFErrorGetCode(_ error: CFError!) -> CFIndex { error.code }
public func CFErrorCopyUserInfo(_ error: CFError!) -> CFDictionary! { error.userInfo as NSDictionary }
public func CFErrorCopyDescription(_ error: CFError!) -> CFString! { error.localizedDescription as NSString }

public func CFDataGetLength(_ data: CFData!) -> CFIndex { data.length }
public func CFStringGetLength(_ string: CFString!) -> CFIndex { string.length }
public func CFArrayGetCount(_ array: CFArray!) -> CFIndex { array.count }
public func CFDictionaryGetCount(_ dictionary: CFDictionary!) -> CFIndex { dictionary.count }

/// Returns whether the number was made from a `Bool`: Core Foundation has two objects for those, unlike any number.
func isBoolean(_ number: NSNumber) -> Bool { number === NSNumber(value: true) || number === NSNumber(value: false) }

extension NSMutableDictionary {
    /// Sets a value like Objective-C's key-value coding of dictionaries: `nil` removes the key.
    public func setValue(_ value: Any?, forKey key: String) {
        if let value { self[key as NSString] = value } else { removeObject(forKey: key as NSString) }
    }
}
