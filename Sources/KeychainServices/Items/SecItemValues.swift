// SPDX-License-Identifier: Apache-2.0
public import Foundation

// The values of attributes, with the raw values of Apple's SecItemConstants.c. `nonisolated(unsafe)`: see
// SecItemKeys.swift.

// MARK: Accessibility

@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlock: CFString = "ck"
@safe nonisolated(unsafe) public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlways: CFString = "dk"
@safe nonisolated(unsafe) public let kSecAttrAccessibleAlwaysThisDeviceOnly: CFString = "dku"
@safe nonisolated(unsafe) public let kSecAttrAccessibleUntilReboot: CFString = "f"
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly: CFString = "akpu"
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlocked: CFString = "ak"
@safe nonisolated(unsafe) public let kSecAttrAccessibleWhenUnlockedThisDeviceOnly: CFString = "aku"

// MARK: Protocols

@safe nonisolated(unsafe) public let kSecAttrProtocolAFP: CFString = "afp "
@safe nonisolated(unsafe) public let kSecAttrProtocolAppleTalk: CFString = "atlk"
@safe nonisolated(unsafe) public let kSecAttrProtocolDAAP: CFString = "daap"
@safe nonisolated(unsafe) public let kSecAttrProtocolEPPC: CFString = "eppc"
@safe nonisolated(unsafe) public let kSecAttrProtocolFTP: CFString = "ftp "
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPAccount: CFString = "ftpa"
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPProxy: CFString = "ftpx"
@safe nonisolated(unsafe) public let kSecAttrProtocolFTPS: CFString = "ftps"
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTP: CFString = "http"
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPProxy: CFString = "htpx"
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPS: CFString = "htps"
@safe nonisolated(unsafe) public let kSecAttrProtocolHTTPSProxy: CFString = "htsx"
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAP: CFString = "imap"
@safe nonisolated(unsafe) public let kSecAttrProtocolIMAPS: CFString = "imps"
@safe nonisolated(unsafe) public let kSecAttrProtocolIPP: CFString = "ipp "
@safe nonisolated(unsafe) public let kSecAttrProtocolIRC: CFString = "irc "
@safe nonisolated(unsafe) public let kSecAttrProtocolIRCS: CFString = "ircs"
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAP: CFString = "ldap"
@safe nonisolated(unsafe) public let kSecAttrProtocolLDAPS: CFString = "ldps"
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTP: CFString = "nntp"
@safe nonisolated(unsafe) public let kSecAttrProtocolNNTPS: CFString = "ntps"
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3: CFString = "pop3"
@safe nonisolated(unsafe) public let kSecAttrProtocolPOP3S: CFString = "pops"
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSP: CFString = "rtsp"
@safe nonisolated(unsafe) public let kSecAttrProtocolRTSPProxy: CFString = "rtsx"
@safe nonisolated(unsafe) public let kSecAttrProtocolSMB: CFString = "smb "
@safe nonisolated(unsafe) public let kSecAttrProtocolSMTP: CFString = "smtp"
@safe nonisolated(unsafe) public let kSecAttrProtocolSOCKS: CFString = "sox "
@safe nonisolated(unsafe) public let kSecAttrProtocolSSH: CFString = "ssh "
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnet: CFString = "teln"
@safe nonisolated(unsafe) public let kSecAttrProtocolTelnetS: CFString = "tels"

// MARK: Authentication types

@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDPA: CFString = "dpaa"
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeDefault: CFString = "dflt"
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTMLForm: CFString = "form"
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPBasic: CFString = "http"
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeHTTPDigest: CFString = "httd"
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeMSN: CFString = "msna"
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeNTLM: CFString = "ntlm"
@safe nonisolated(unsafe) public let kSecAttrAuthenticationTypeRPA: CFString = "rpaa"

// MARK: Keys

@safe nonisolated(unsafe) public let kSecAttrKeyClassPrivate: CFString = "1"
@safe nonisolated(unsafe) public let kSecAttrKeyClassPublic: CFString = "0"
@safe nonisolated(unsafe) public let kSecAttrKeyClassSymmetric: CFString = "2"
@safe nonisolated(unsafe) public let kSecAttrKeyType3DES: CFString = "17"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeAES: CFString = "2147483649"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeCAST: CFString = "56"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDES: CFString = "14"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeDSA: CFString = "43"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeEC: CFString = "73"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECDSA: CFString = "73"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeECSecPrimeRandom: CFString = "73"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC2: CFString = "23"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRC4: CFString = "25"
@safe nonisolated(unsafe) public let kSecAttrKeyTypeRSA: CFString = "42"
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA1: CFString = "hsha1"
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA224: CFString = "hsha224"
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA256: CFString = "hsha256"
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA384: CFString = "hsha384"
@safe nonisolated(unsafe) public let kSecAttrPRFHmacAlgSHA512: CFString = "hsha512"

// MARK: Others

@safe nonisolated(unsafe) public let kSecAttrAccessGroupToken: CFString = "com.apple.token"
@safe nonisolated(unsafe) public let kSecAttrSynchronizableAny: CFString = "syna"
@safe nonisolated(unsafe) public let kSecAttrTokenIDSecureEnclave: CFString = "com.apple.setoken"
