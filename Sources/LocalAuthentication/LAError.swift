// SPDX-License-Identifier: Apache-2.0
public import Foundation

public let LAErrorDomain = "com.apple.LocalAuthentication"

/// The reason why the user was not asked, or did not consent.
///
/// Calls return an `NSError` of the domain ``LAErrorDomain``, which casts to this type and back, as on Apple's systems.
public struct LAError: CustomNSError, Hashable, @unchecked Sendable {
    /// Immutable.
    private let error: NSError

    public init(_nsError error: NSError) { self.error = error }

    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        error = NSError(
            domain: LAErrorDomain, code: code.rawValue,
            userInfo: [NSLocalizedDescriptionKey: code.text].merging(userInfo) { $1 })
    }

    public static var errorDomain: String { LAErrorDomain }

    public var code: Code { Code(rawValue: error.code) ?? .authenticationFailed }
    public var errorCode: Int { error.code }
    public var errorUserInfo: [String: Any] { error.userInfo }
    public var userInfo: [String: Any] { error.userInfo }
    public var localizedDescription: String { error.localizedDescription }

    public static func == (a: LAError, b: LAError) -> Bool { a.error.isEqual(b.error) }

    public func hash(into hasher: inout Hasher) { hasher.combine(error.code) }

    /// The codes, with Apple's numbers.
    public enum Code: Int, Error, Sendable {
        /// The passphrase was wrong three times, or there was no reason to show.
        case authenticationFailed = -1
        /// The user declined.
        case userCancel = -2
        case userFallback = -3
        /// The user did not answer in time, or the agent has exited.
        case systemCancel = -4
        /// There is no vault, or none with a passphrase slot.
        case passcodeNotSet = -5
        case biometryNotAvailable = -6
        case biometryNotEnrolled = -7
        case biometryLockout = -8
        /// The program called ``LAContext/invalidate()`` meanwhile.
        case appCancel = -9
        /// The program called ``LAContext/invalidate()`` before.
        case invalidContext = -10
        case companionNotAvailable = -11
        case biometryNotPaired = -12
        case biometryDisconnected = -13
        case invalidDimensions = -14
        /// The user cannot be asked: no agent of the vault has a door with a prompt, or the context forbids it.
        case notInteractive = -1004

        public static var touchIDNotAvailable: Code { .biometryNotAvailable }
        public static var touchIDNotEnrolled: Code { .biometryNotEnrolled }
        public static var touchIDLockout: Code { .biometryLockout }
        public static var watchNotAvailable: Code { .companionNotAvailable }
    }
}

extension LAError {
    public static var authenticationFailed: Code { .authenticationFailed }
    public static var userCancel: Code { .userCancel }
    public static var userFallback: Code { .userFallback }
    public static var systemCancel: Code { .systemCancel }
    public static var passcodeNotSet: Code { .passcodeNotSet }
    public static var biometryNotAvailable: Code { .biometryNotAvailable }
    public static var touchIDNotAvailable: Code { .biometryNotAvailable }
    public static var biometryNotEnrolled: Code { .biometryNotEnrolled }
    public static var touchIDNotEnrolled: Code { .biometryNotEnrolled }
    public static var biometryLockout: Code { .biometryLockout }
    public static var touchIDLockout: Code { .biometryLockout }
    public static var appCancel: Code { .appCancel }
    public static var invalidContext: Code { .invalidContext }
    public static var companionNotAvailable: Code { .companionNotAvailable }
    public static var watchNotAvailable: Code { .companionNotAvailable }
    public static var biometryNotPaired: Code { .biometryNotPaired }
    public static var biometryDisconnected: Code { .biometryDisconnected }
    public static var invalidDimensions: Code { .invalidDimensions }
    public static var notInteractive: Code { .notInteractive }
}

extension LAError.Code {
    /// Supports `catch LAError.userCancel`.
    public static func ~= (code: LAError.Code, error: any Error) -> Bool { (error as? LAError)?.code == code }

    fileprivate var text: String {
        switch self {
        case .authenticationFailed: "The passphrase was wrong."
        case .userCancel: "The question was dismissed."
        case .userFallback: "Another way was chosen."
        case .systemCancel: "The question was not answered."
        case .passcodeNotSet: "There is no vault that a passphrase opens."
        case .biometryNotAvailable: "There is no biometry here."
        case .biometryNotEnrolled: "Nobody is enrolled."
        case .biometryLockout: "Biometry is locked."
        case .appCancel: "The application has ended the question."
        case .invalidContext: "The context was invalidated."
        case .companionNotAvailable: "There is no companion device here."
        case .biometryNotPaired: "No device for biometry is paired."
        case .biometryDisconnected: "The device for biometry is disconnected."
        case .invalidDimensions: "The dimensions are not valid."
        case .notInteractive: "Nobody can be asked."
        }
    }
}

// Lets an NSError be cast to this type.
extension LAError: _ObjectiveCBridgeable {
    public typealias _ObjectiveCType = NSError

    public func _bridgeToObjectiveC() -> NSError { error }

    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) {
        _ = _conditionallyBridgeFromObjectiveC(source, result: &result)
    }

    public static func _conditionallyBridgeFromObjectiveC(_ source: NSError, result: inout LAError?) -> Bool {
        result = source.domain == LAErrorDomain ? LAError(_nsError: source) : nil
        return result != nil
    }

    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> LAError {
        source.map { LAError(_nsError: $0) } ?? LAError(.authenticationFailed)
    }
}

public let kLAErrorAuthenticationFailed: Int32 = -1
public let kLAErrorUserCancel: Int32 = -2
public let kLAErrorUserFallback: Int32 = -3
public let kLAErrorSystemCancel: Int32 = -4
public let kLAErrorPasscodeNotSet: Int32 = -5
public let kLAErrorTouchIDNotAvailable: Int32 = -6
public let kLAErrorTouchIDNotEnrolled: Int32 = -7
public let kLAErrorTouchIDLockout: Int32 = -8
public let kLAErrorBiometryNotAvailable: Int32 = -6
public let kLAErrorBiometryNotEnrolled: Int32 = -7
public let kLAErrorBiometryLockout: Int32 = -8
public let kLAErrorAppCancel: Int32 = -9
public let kLAErrorInvalidContext: Int32 = -10
public let kLAErrorCompanionNotAvailable: Int32 = -11
public let kLAErrorWatchNotAvailable: Int32 = -11
public let kLAErrorBiometryNotPaired: Int32 = -12
public let kLAErrorBiometryDisconnected: Int32 = -13
public let kLAErrorInvalidDimensions: Int32 = -14
public let kLAErrorNotInteractive: Int32 = -1004
