// SPDX-License-Identifier: Apache-2.0

/// The reason why a ceremony ended without a credential, with the codes of keepassxc-browser (version 2.7.7 of the
/// protocol).
package enum PasskeyRefusal: Int, Error, Sendable, CaseIterable {
    /// The vault has no passkey for a site that lists none.
    case noPasskey = 15
    /// The site demands an attestation that identifies the device.
    case attestation = 20
    /// The vault has one of the passkeys that the site excludes.
    case excluded = 21
    /// The user has refused.
    case dismissed = 22
    /// The site requires the user to be verified, and the user has refused or cannot be asked.
    case unverified = 23
    /// The request has no options of a public key credential.
    case noOptions = 24
    /// The origin is not a URL that browsers write.
    case unreadableOrigin = 25
    /// The origin is opaque, or a page that an attacker on the network can replace.
    case originNotAllowed = 26
    /// The rpId, or the host of the origin, is not a domain.
    case notADomain = 27
    /// The rpId is not the domain of the origin or a registrable suffix of it.
    case foreignRelyingParty = 28
    /// The site accepts none of the algorithms of this vault.
    case noAlgorithm = 29
    /// The page learns of the outcome only after its own timeout, so that it cannot tell a refusal from a missing
    /// passkey.
    case untilTimeout = 30
    case other = 31
    /// The challenge has fewer than 16 bytes, or is not base64url.
    case challenge = 32
    /// The user's identifier has no bytes or more than 64, or is not base64url.
    case userID = 33
}
