// swift-tools-version: 6.2
import PackageDescription

var settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    // An async function runs on its caller's executor: other code may occupy the few threads that all tasks share.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

// Scripts/dependencies sets this for the tests. Users build without it, since a newer compiler may have new warnings.
let isForTests = Context.environment["VAULT_TESTS"] != nil
if isForTests { settings.append(.treatAllWarnings(as: .error)) }

// Tests handle raw bytes often, and `unsafe` at each place would make them harder to read.
let testSettings = settings
settings.append(.strictMemorySafety())
// Simulations take a third of the time on optimized code. The tests themselves are not optimized: the optimizer would
// release an agent after its last use in a test, and not at the end of the test.
if isForTests { settings.append(.unsafeFlags(["-O"], .when(configuration: .debug))) }

// A client of KeychainServices must not need the modules that KeychainServices imports: `canImport(Security)` is true
// for every target of a graph, also for targets that do not depend on this package and cannot find its C modules.
// Without library evolution, only an implementation-only import hides a module. The compiler warns of layouts that
// would leak; the public declarations have none.
let keychainSettings = settings + [.treatWarning("ImplementationOnlyDeprecated", as: .warning)]

let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

// Dependencies of the command and of the agent's server. A package that depends on the libraries alone sets
// `traits: []`, and does not fetch them.
let command = Trait.trait(name: "Command", description: "The vault command and the agent's server")
@MainActor func ofCommand(_ product: String, _ package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: [command.name]))
}

// The protocols of other programs. Scripts/check reads this line as well.
let doors = ["VaultSecretService", "VaultSSHAgent", "VaultBrowser", "VaultCredentials", "VaultGit"]
let allDoors = doors.map { Target.Dependency.byName(name: $0) }

let package = Package(
    name: "vault",
    products: [
        .library(name: "Vault", targets: ["Vault"]),
        // The same verbs for a vault that an agent keeps open.
        .library(name: "VaultAgent", targets: ["VaultAgent"]),
        // Apple's names for the four verbs; the second product is the first under the name that unmodified sources
        // import.
        .library(name: "KeychainServices", targets: ["KeychainServices"]),
        .library(name: "Security", targets: ["Security"]),
        // LAContext, which asks a person, under the name that unmodified sources import.
        .library(name: "LocalAuthentication", targets: ["LocalAuthentication"]),
        // Apple's digests, codes and ciphers, in C as on Apple's systems.
        .library(name: "CommonCrypto", targets: ["CommonCrypto"]),
        .executable(name: "vault", targets: ["VaultCommand"]),
    ],
    traits: [command, .default(enabledTraits: [command.name])],
    dependencies: [
        // Parsing, help and completion scripts of the command.
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        // Messages for the log of the application, which chooses the destination.
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        // Paths, errno and file permissions in the types of the platform.
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .target(name: "CLinux"),
        // Libraries for few commands, each loaded by name at its first use.
        .target(name: "CBus"),
        .target(name: "CCrypto"),
        .target(name: "CCurl"),
        .target(name: "CExpat"),
        .target(name: "CFido"),
        .target(name: "CPostgres"),
        .target(name: "VaultCrypto", dependencies: ["CSodium", "CLinux", "CCrypto"], swiftSettings: settings),
        .target(name: "VaultFormat", swiftSettings: settings),
        // Descriptors that close themselves, and the status and names of files.
        .target(name: "VaultSystem", dependencies: ["CLinux", system], swiftSettings: settings),
        .target(
            name: "VaultStorage",
            dependencies: ["VaultSystem", "VaultFormat", "VaultCrypto", "CLinux", system],
            swiftSettings: settings),
        .target(
            name: "Vault",
            dependencies: ["VaultSystem", "VaultStorage", "VaultFormat", "VaultCrypto", system],
            swiftSettings: settings),
        .target(
            name: "VaultAgent",
            dependencies: ["VaultSystem", "Vault", "VaultStorage", "VaultFormat", "VaultCrypto", "CLinux", system],
            swiftSettings: settings),
        // Fleets through an agent: the changes, and the encoding of their results.
        .target(
            name: "VaultFleet",
            dependencies: [
                "VaultSyncPostgres", "VaultSyncEtcd", "VaultSync", "VaultAgent", "Vault", "VaultStorage", "VaultFormat",
                "VaultCrypto", system,
            ],
            swiftSettings: settings),
        .target(
            name: "VaultAgentServer",
            dependencies: [
                "VaultSystem", "VaultFleet", "VaultSync", "VaultAgent", "Vault", "VaultStorage", "VaultFormat",
                "VaultCrypto",
                "VaultLoop", "CLinux", "CBus", system,
            ],
            swiftSettings: settings),
        .target(
            name: "VaultLoop", dependencies: ["VaultSystem", "CLinux", system], swiftSettings: settings),
        .target(name: "VaultBus", dependencies: ["VaultFormat", "VaultCrypto", "CBus"], swiftSettings: settings),
        .target(name: "VaultFIDO", dependencies: ["VaultCrypto", "CFido"], swiftSettings: settings),
        // The common parts of all doors: clients, the port to the vault, and questions to a person.
        .target(
            name: "VaultDoorKit",
            dependencies: [
                "VaultSystem", "VaultLoop", "VaultAgent", "Vault", "VaultFormat", "VaultCrypto", "CLinux", system,
            ],
            swiftSettings: settings),
        .target(
            name: "VaultSecretService",
            dependencies: [
                "VaultSystem", "VaultDoorKit", "VaultBus", "VaultLoop", "VaultAgent", "Vault", "VaultFormat",
                "VaultCrypto", "CLinux",
            ],
            swiftSettings: settings),
        .target(
            name: "VaultSSHAgent",
            dependencies: [
                "VaultSystem", "VaultDoorKit", "VaultLoop", "VaultAgent", "Vault", "VaultFormat", "VaultCrypto",
                "CLinux", system,
            ],
            swiftSettings: settings),
        .target(
            name: "VaultBrowser",
            dependencies: [
                "VaultSystem", "VaultDoorKit", "VaultAgent", "Vault", "VaultFormat", "VaultCrypto", system,
            ],
            swiftSettings: settings),
        .target(
            name: "VaultCredentials",
            dependencies: [
                "VaultDoorKit", "VaultLoop", "VaultAgent", "Vault", "VaultFormat", "VaultCrypto", "CLinux",
            ],
            swiftSettings: settings),
        .target(
            name: "VaultGit", dependencies: ["Vault", "VaultFormat", "VaultCrypto"], swiftSettings: settings),
        .target(
            name: "VaultImport",
            dependencies: ["VaultBus", "Vault", "VaultFormat", "VaultCrypto", "CExpat"],
            swiftSettings: settings),
        .target(
            name: "VaultSync",
            dependencies: ["VaultSystem", "Vault", "VaultStorage", "VaultFormat", "VaultCrypto", "CLinux", system],
            swiftSettings: settings),
        .target(
            name: "VaultSyncPostgres",
            dependencies: ["VaultSystem", "VaultSync", "VaultFormat", "VaultCrypto", "CPostgres", system],
            swiftSettings: settings),
        .target(
            name: "VaultSyncEtcd", dependencies: ["VaultSync", "VaultFormat", "VaultCrypto", "CCurl", system],
            swiftSettings: settings),
        .target(
            name: "KeychainServices",
            dependencies: [
                "VaultAgent", "Vault", "VaultFormat", "VaultCrypto", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: keychainSettings),
        .target(name: "Security", dependencies: ["KeychainServices"], swiftSettings: settings),
        .target(name: "LocalAuthentication", dependencies: ["KeychainServices"], swiftSettings: settings),
        .target(name: "CommonCrypto", dependencies: ["CCrypto"]),
        .target(
            name: "VaultCLI",
            dependencies: allDoors + [
                "VaultDoorKit", "VaultBus", "VaultFIDO", "VaultImport", "VaultSyncPostgres", "VaultSync",
                "VaultAgentServer", "VaultFleet",
                "VaultAgent", "Vault", "VaultStorage", "VaultFormat", "VaultCrypto", "VaultSystem", "CLinux",
                ofCommand("ArgumentParser", "swift-argument-parser"),
                system,
            ],
            swiftSettings: settings),
        .executableTarget(name: "VaultCommand", dependencies: ["VaultCLI"], swiftSettings: settings),
        .target(
            name: "TestSupport",
            dependencies: [
                "VaultSync", "VaultSystem", "Vault", "VaultStorage", "VaultFormat", "VaultCrypto", "CLinux", system,
            ],
            path: "Tests/TestSupport", swiftSettings: settings),
        // Cases that the dependent package in Tests/Dependent runs in a release build, and the tests here as well.
        .target(
            name: "SecItemCases", dependencies: ["KeychainServices"], path: "Tests/Dependent/Sources/SecItemCases",
            swiftSettings: testSettings),
        .executableTarget(
            name: "vault-torture",
            dependencies: [
                "VaultSyncPostgres", "VaultSyncEtcd", "VaultSync", "Vault", "VaultStorage", "VaultFormat",
                "VaultCrypto", "CLinux", "TestSupport",
            ],
            path: "Tests/Torture", swiftSettings: testSettings),
        .testTarget(
            name: "VaultCryptoTests", dependencies: ["VaultCrypto", "CLinux", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultFormatTests", dependencies: ["VaultFormat", "VaultCrypto", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultStorageTests",
            dependencies: [
                "VaultSystem", "Vault", "VaultStorage", "VaultFormat", "VaultCrypto", "TestSupport", system,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultTests",
            dependencies: [
                "VaultSystem", "Vault", "VaultStorage", "VaultFormat", "VaultCrypto", "TestSupport", system,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultAgentTests",
            dependencies: ["VaultAgent", "Vault", "VaultStorage", "VaultFormat", "VaultCrypto", "TestSupport", system],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultAgentServerTests",
            dependencies: [
                "VaultAgentServer", "VaultFleet", "VaultSync", "VaultAgent", "Vault", "VaultStorage", "VaultFormat",
                "VaultCrypto", "VaultSystem", "CLinux", "TestSupport", system,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultDoorsTests",
            dependencies: allDoors + [
                "VaultDoorKit", "VaultBus", "CBus", "CLinux", "VaultLoop", "VaultAgentServer", "VaultAgent", "Vault",
                "VaultStorage",
                "VaultFormat", "VaultCrypto", "TestSupport", system,
            ],
            exclude: ["SecretService/hostile.py", "SSH/Samples", "Browser/relying-party.py"],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultFIDOTests",
            dependencies: ["VaultFIDO", "CFido", "VaultFormat", "VaultCrypto", "TestSupport", system],
            exclude: ["securitykey.py", "hidraw.c"], swiftSettings: testSettings),
        .testTarget(
            name: "VaultImportTests",
            dependencies: [
                "VaultImport", "VaultSSHAgent", "VaultBus", "Vault", "VaultFormat", "VaultCrypto", "TestSupport",
                system,
            ],
            exclude: ["secrets.py"], swiftSettings: testSettings),
        .testTarget(
            name: "VaultSyncTests",
            dependencies: [
                "VaultSyncPostgres", "VaultSyncEtcd", "VaultSync", "Vault", "VaultStorage", "VaultFormat",
                "VaultCrypto", "VaultSystem", "TestSupport", "VaultCommand", system,
            ],
            exclude: ["Postgres/server.sh", "Postgres/liar.py", "Etcd/liar.py"], swiftSettings: testSettings),
        .testTarget(
            name: "KeychainServicesTests",
            dependencies: [
                "KeychainServices", "Security", "SecItemCases", "VaultAgentServer", "Vault", "VaultStorage",
                "VaultFormat", "VaultCrypto",
                "TestSupport", system,
            ],
            exclude: ["Keys/others.py"], swiftSettings: testSettings),
        .testTarget(
            name: "LocalAuthenticationTests",
            dependencies: [
                "LocalAuthentication", "KeychainServices", "SecItemCases", "VaultAgentServer", "VaultAgent", "Vault",
                "VaultStorage", "VaultCrypto", "TestSupport", system,
            ],
            swiftSettings: testSettings),
        .testTarget(
            name: "CommonCryptoTests", dependencies: ["CommonCrypto", "VaultFormat", "TestSupport"],
            swiftSettings: testSettings),
        .testTarget(
            name: "VaultCLITests",
            dependencies: [
                "VaultCLI", "VaultSync", "Vault", "VaultStorage", "VaultFormat", "VaultCrypto", "TestSupport",
                "VaultCommand", "vault-torture", system,
                ofCommand("ArgumentParser", "swift-argument-parser"),
            ],
            exclude: [
                "Transcripts", "logind.py", "chip.py", "older.py", "gitserver.py", "firefox.py", "browser_logins.py",
                "browser_passkeys.py", "passkey_site.py", "login.c", "cut.py", "trap.py", "views.py",
            ],
            swiftSettings: testSettings),
    ]
)

// Scripts/fuzz builds the functions that judge an input, which are shared with the tests, with the sanitizers.
if Context.environment["VAULT_FUZZING"] != nil {
    package.targets.removeAll { $0.type == .test }
    package.targets.append(
        .target(
            name: "Fuzzing",
            dependencies: allDoors + [
                "VaultCLI", "VaultDoorKit", "VaultImport", "VaultAgent", "Vault", "VaultStorage", "VaultFormat",
                "VaultCrypto",
                "TestSupport", system,
                ofCommand("ArgumentParser", "swift-argument-parser"),
            ],
            path: "Tests",
            sources: [
                "Fuzzing/FuzzMain.swift", "VaultFormatTests/FuzzedFormat.swift",
                "VaultFormatTests/Reach/ReachSamples.swift",
                "VaultFormatTests/Certificates/CertificateBuilder.swift",
                "VaultFormatTests/Certificates/FuzzedFormat+Certificates.swift",
                "VaultFormatTests/WebAuthn/FuzzedFormat+WebAuthn.swift", "VaultFormatTests/URL/FuzzedFormat+URL.swift",
                "VaultStorageTests/Log/FuzzedLog.swift",
                "VaultStorageTests/VaultBuilder.swift", "VaultCLITests/FuzzedCommand.swift",
                "VaultAgentTests/FuzzedMessage.swift", "VaultTests/Values/FuzzedValue.swift",
                "VaultImportTests/FuzzedImport.swift", "VaultImportTests/ImportSamples.swift",
                "VaultDoorsTests/FuzzedDoors.swift", "VaultDoorsTests/SSH/SSHWorld.swift",
            ],
            swiftSettings: testSettings))
}

// Scripts/check --sanitize: see Tests/ThreadSanitizer/Mutex.c.
if Context.environment["VAULT_THREAD_SANITIZER"] != nil {
    let slowPaths = ["9_lockSlowyys6UInt32VF", "11_unlockSlowyyF", "12_tryLockSlowSbyF"]
    package.targets.append(
        .target(
            name: "ThreadSanitizer", path: "Tests/ThreadSanitizer",
            linkerSettings: [
                .unsafeFlags(slowPaths.flatMap { ["-Xlinker", "--wrap=$s15Synchronization12_MutexHandleV\($0)"] })
            ]))
    package.targets.first { $0.name == "TestSupport" }?.dependencies.append("ThreadSanitizer")
}

// The plugin renders Sources/Vault/Vault.docc. Only a build of the documentation includes it, since its tools are built
// with the package.
if Context.environment["VAULT_DOCUMENTATION"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
