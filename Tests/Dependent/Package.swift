// swift-tools-version: 6.2
import PackageDescription

// A package of a user's own: what is built here, with -c release, is what users run.
let package = Package(
    name: "dependent",
    dependencies: [.package(name: "vault", path: "../..")],
    targets: [
        .target(name: "SecItemCases", dependencies: [.product(name: "KeychainServices", package: "vault")]),
        // Sources that say `import Security` and know nothing of this product, in the mode of Swift 5.
        .target(
            name: "OlderSources",
            dependencies: [
                .product(name: "Security", package: "vault"), .product(name: "Vault", package: "vault"),
                .product(name: "VaultAgent", package: "vault"),
            ],
            swiftSettings: [.swiftLanguageMode(.v5)]),
        // FoundationNetworking brings libcrypto into a process, without which a case of the executable has to do.
        .target(name: "NetworkingExample"),
        .executableTarget(
            name: "dependent",
            dependencies: [
                "SecItemCases", "OlderSources", .product(name: "Vault", package: "vault"),
                .product(name: "VaultAgent", package: "vault"),
                .product(name: "KeychainServices", package: "vault"), .product(name: "Security", package: "vault"),
                .product(name: "LocalAuthentication", package: "vault"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
