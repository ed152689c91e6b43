// SPDX-License-Identifier: Apache-2.0

// For sources that say `import Security` and must stay unchanged. New code should import KeychainServices: a module of
// this name makes `canImport(Security)` true for everything that is built beside it.
@_exported public import KeychainServices
