// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import KeychainServices
import Synchronization
import SystemPackage
import TestSupport
import Testing
import VaultCrypto

@testable import LocalAuthentication
@testable import Vault
@testable import VaultAgent
@testable import VaultAgentServer

/// Tests in processes of their own: environment variables of the whole process locate the vault and the agent.
struct LAContextTests {
    @Test func `biometry and other devices are not here`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            try world.makeVault()
            let context = LAContext()
            try check(context.biometryType == .none && context.evaluatedPolicyDomainState == nil)
            try check(obstacle(context, .deviceOwnerAuthenticationWithBiometrics) == .biometryNotAvailable)
            try check(obstacle(context, .deviceOwnerAuthenticationWithBiometricsOrCompanion) == .biometryNotAvailable)
            try check(obstacle(context, .deviceOwnerAuthenticationWithWristDetection) == .biometryNotAvailable)
            try check(obstacle(context, .deviceOwnerAuthenticationWithCompanion) == .companionNotAvailable)
            do {
                try await context.evaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, localizedReason: "r")
                try check(false)
            } catch LAError.biometryNotAvailable {}
            try check(!context.setCredential(Data(), type: .applicationPassword))
            try check(!context.isCredentialSet(.applicationPassword))
        }
    }

    @Test func `without a vault there is no passcode, and without a door nobody is asked`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            try check(obstacle(LAContext(), .deviceOwnerAuthentication) == .passcodeNotSet)
            try check(await evaluated(LAContext()) == .passcodeNotSet)
            try world.makeVault()
            try check(obstacle(LAContext(), .deviceOwnerAuthentication) == .notInteractive)
            try check(await evaluated(LAContext()) == .notInteractive)
            try world.startAgent()
            try check(obstacle(LAContext(), .deviceOwnerAuthentication) == .notInteractive)
            // A vault bound in code is open in this process.
            Vault.setDefault(try .inMemory())
            try check(obstacle(LAContext(), .deviceOwnerAuthentication) == .notInteractive)
        }
    }

    @Test func `a context that forbids questions, an empty reason and an invalid context ask nobody`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            try world.makeVault()
            let door = try world.startAgent { _ in .dismissed }
            let context = LAContext()
            try check(obstacle(context, .deviceOwnerAuthentication) == nil)
            try check(await evaluated(context, "") == .authenticationFailed)
            context.interactionNotAllowed = true
            try check(await evaluated(context) == .notInteractive)
            context.interactionNotAllowed = false
            context.invalidate()
            try check(obstacle(context, .deviceOwnerAuthentication) == .invalidContext)
            try check(await evaluated(context) == .invalidContext)
            try check(door.count == 0)
        }
    }

    @Test func `what a person answers is what the call says`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            try world.makeVault()
            let passphrase = world.passphrase
            let wrong = try Passphrase.of("wrong")
            let answers: [(PersonAnswer, LAError.Code?)] = [
                (.dismissed, .userCancel), (.unanswered, .systemCancel), (.passphrase(wrong), .authenticationFailed),
                (.unavailable, .notInteractive), (.passphrase(passphrase), nil),
            ]
            let next = Held(answers.map(\.0))
            try world.startAgent { _ in next.first }
            for (_, code) in answers {
                try check(await evaluated(LAContext()) == code)
                next.drop()
                world.rest()
            }
        }
    }

    @Test func `invalidating ends what is being asked`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            try world.makeVault()
            let context = LAContext()
            try world.startAgent { _ in
                context.invalidate()
                return nil
            }
            try check(await evaluated(context) == .appCancel)
            try check(await evaluated(context) == .invalidContext)
        }
    }

    @Test func `an agent that ends in the middle is the system's doing`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            try world.makeVault()
            let ending = world.ending
            try world.startAgent { _ in
                ending()
                return nil
            }
            let code = await evaluated(LAContext())
            try check(code == .systemCancel)
        }
    }

    @Test func `a context that was allowed lets calls read without another question`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            try world.makeVault()
            let passphrase = world.passphrase
            let door = try world.startAgent { _ in .passphrase(passphrase) }
            let control = try required(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, .userPresence, nil))
            let item: [String: Any] = [
                "class": "genp", "svce": "s", "accc": control, "v_Data": Data("protected".utf8),
            ]
            let context = LAContext()
            // The evaluation also unlocks the vault.
            try check(await evaluated(context) == nil)
            try check(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            var found: CFTypeRef?
            var query: [String: Any] = [
                "class": "genp", "svce": "s", "r_Data": true, kSecUseAuthenticationContext as String: context,
                kSecUseAuthenticationUI as String: kSecUseAuthenticationUIFail,
            ]
            try check(SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess)
            try check(found as? Data == Data("protected".utf8) && door.count == 1)
            query[kSecUseAuthenticationContext as String] = LAContext()
            try check(SecItemCopyMatching(query as CFDictionary, &found) == errSecInteractionNotAllowed)
            query[kSecUseAuthenticationUI as String] = kSecUseAuthenticationUISkip
            try check(SecItemCopyMatching(query as CFDictionary, &found) == errSecItemNotFound)
            try check(door.count == 1)
            query[kSecUseAuthenticationUI as String] = kSecUseAuthenticationUIAllow
            query[kSecUseOperationPrompt as String] = "to see it"
            try check(SecItemCopyMatching(query as CFDictionary, &found) == errSecSuccess)
            try check(door.count == 2 && door.reasons.last == "to see it")
            // Invalidation withdraws the consent.
            context.invalidate()
            query[kSecUseAuthenticationContext as String] = context
            try check(SecItemCopyMatching(query as CFDictionary, &found) == errSecInteractionNotAllowed)
            try check(door.count == 2)
        }
    }

    @Test func `an access control is met by the passphrase or not`() async {
        await #expect(processExitsWith: .success) {
            let world = try World()
            try world.makeVault()
            let passphrase = world.passphrase
            try world.startAgent { _ in .passphrase(passphrase) }
            for (flags, code): (SecAccessControlCreateFlags, LAError.Code?) in [
                (.userPresence, nil), (.biometryAny, .biometryNotAvailable),
                ([.biometryAny, .or, .devicePasscode], nil), (.applicationPassword, .biometryNotAvailable),
            ] {
                let control = try required(
                    SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil))
                let result: LAError.Code? = await withCheckedContinuation { continuation in
                    LAContext().evaluateAccessControl(control, operation: .useItem, localizedReason: "r") {
                        isMet, error in
                        continuation.resume(returning: isMet ? nil : (error as? LAError)?.code)
                    }
                }
                try check(result == code)
            }
        }
    }

    @Test func `its settings are kept, and it can be stood in for`() {
        final class Mock: LAContext, @unchecked Sendable {
            override func canEvaluatePolicy(_ policy: LAPolicy, error: NSErrorPointer) -> Bool { true }
        }
        let context: LAContext = Mock()
        context.localizedReason = "r"
        context.localizedFallbackTitle = ""
        context.localizedCancelTitle = "no"
        context.touchIDAuthenticationAllowableReuseDuration = LATouchIDAuthenticationMaximumAllowableReuseDuration
        #expect(context.localizedReason == "r" && context.localizedFallbackTitle == "")
        #expect(context.localizedCancelTitle == "no" && context.touchIDAuthenticationAllowableReuseDuration == 300)
        #expect(context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil))
    }
}

private func obstacle(_ context: LAContext, _ policy: LAPolicy) -> LAError.Code? {
    var error: NSError?
    guard !context.canEvaluatePolicy(policy, error: &error) else { return nil }
    return error.flatMap { LAError.Code(rawValue: $0.code) }
}

private func evaluated(_ context: LAContext, _ reason: String = "to pay") async -> LAError.Code? {
    do {
        let isAllowed = try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: reason)
        return isAllowed ? nil : .authenticationFailed
    } catch { return (error as? LAError)?.code }
}

private final class Held: Sendable {
    private let answers: Mutex<[PersonAnswer]>

    init(_ answers: [PersonAnswer]) { self.answers = Mutex(answers) }

    var first: PersonAnswer? { answers.withLock { $0.first } }

    func drop() { answers.withLock { _ = $0.removeFirst() } }
}
