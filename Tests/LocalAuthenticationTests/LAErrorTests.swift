// SPDX-License-Identifier: Apache-2.0
import Foundation
import LocalAuthentication
import Testing

/// A thrown error is an NSError, and every common way of inspecting the error works.
struct LAErrorTests {
    private func fail(_ code: LAError.Code) throws {
        throw NSError(domain: LAErrorDomain, code: code.rawValue)
    }

    @Test func `another domain and another code are something else`() {
        let other: any Error = NSError(domain: NSPOSIXErrorDomain, code: -2)
        #expect(other as? LAError == nil)
        if case LAError.userCancel = other { Issue.record("another domain") }
        let unknown: any Error = NSError(domain: LAErrorDomain, code: -2000)
        #expect((unknown as? LAError)?.errorCode == -2000)
        if case LAError.userCancel = unknown { Issue.record("another code") }
    }

    @Test func `it is caught by its code`() {
        do { try fail(.userCancel) } catch LAError.userCancel {} catch { Issue.record("not caught") }
        do { try fail(.notInteractive) } catch LAError.userCancel {
            Issue.record("another code")
        } catch let error as LAError {
            #expect(error.code == .notInteractive && error.errorCode == -1004)
        } catch { Issue.record("not cast") }
        do { try fail(.appCancel) } catch let error as NSError {
            #expect(error.domain == LAError.errorDomain && LAError.Code(rawValue: error.code) == .appCancel)
        }
        do { try fail(.passcodeNotSet) } catch {
            switch error {
            case LAError.passcodeNotSet: break
            default: Issue.record("not matched")
            }
            #expect(Int32((error as NSError).code) == kLAErrorPasscodeNotSet)
        }
    }

    @Test func `it is made, compared and told`() {
        let error = LAError(.biometryNotAvailable)
        #expect(error == LAError(.touchIDNotAvailable) && error != LAError(.userCancel))
        #expect(error.code == LAError.touchIDNotAvailable && !error.localizedDescription.isEmpty)
        #expect((error as NSError).code == Int(kLAErrorTouchIDNotAvailable))
        #expect((error as NSError).domain == LAErrorDomain)
        #expect(Set([error, LAError(.biometryNotAvailable)]).count == 1)
    }
}
