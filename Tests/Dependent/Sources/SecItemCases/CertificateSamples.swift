// SPDX-License-Identifier: Apache-2.0
import Foundation
import KeychainServices

/// Certificates made with `openssl req` and `openssl x509`, valid until 2125: a root, an intermediate and a leaf for
/// www.example.com, another certificate for the leaf's key, and some with unusual names.
enum CertificateSamples {
    static func certificate(_ base64: String) throws -> SecCertificate {
        let made = Data(base64Encoded: base64, options: .ignoreUnknownCharacters).flatMap {
            SecCertificateCreateWithData(nil, $0 as CFData)
        }
        guard let made else { throw Checks.Missing(description: "no certificate") }
        return made
    }

    /// The leaf's private key: 4, x, y and the private number.
    static func leafKey() throws -> SecKey {
        let data = Data(base64Encoded: keyBytes) ?? Data()
        guard let made = key(data, ["type": curve, "kcls": "1"]) else {
            throw Checks.Missing(description: "no key")
        }
        return made
    }

    private static let keyBytes =
        "BE6YvvKs/QNe9kcuQuIWQtnt/BcezHizf+Iz2FwNuHkj2AcwRJr887OSsnciAf7YkHY0L8ZI1IkZPRJ7ENIuWd+zMyokemcBYASs"
        + "ucEMRYGNGQCyy9TcgRDQhl1mF68VlQ=="

    static let root = """
        MIIBvjCCAWOgAwIBAgIUT0OMiyisSG4nE6gz2wf5U+gRaxowCgYIKoZIzj0EAwIwKzEUMBIGA1UECgwLVmF1bHQgQ2FzZXMxEzARBgNVBAMMCkNh
        c2VzIFJvb3QwIBcNMjYxMTIzMTkxMzE0WhgPMjEyNjEwMzAxOTEzMTRaMCsxFDASBgNVBAoMC1ZhdWx0IENhc2VzMRMwEQYDVQQDDApDYXNlcyBS
        b290MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEogrrDJgabVc7k15bIt9R5VrCsXjosvCdrkigyA7H8qoiAQ3NfWA1pDvgd1+/rnQlpQ7L+JzZ
        6PuUdRdWfFa01qNjMGEwHQYDVR0OBBYEFBNyApnZa0S3PVkUt12LcAJ2xcZKMB8GA1UdIwQYMBaAFBNyApnZa0S3PVkUt12LcAJ2xcZKMA8GA1Ud
        EwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgIEMAoGCCqGSM49BAMCA0kAMEYCIQCdsiGhWMxK0uSy67PB0B3P4t0pnebB1XvrkOpSlgR4vQIhALlW
        XH9vcBEKn4xMkx4G/3Sr+ZzyOc6yFRIgBGuLHhRZ
        """
    static let intermediate = """
        MIIBuTCCAV+gAwIBAgIIF59lMIB5sDIwCgYIKoZIzj0EAwIwKzEUMBIGA1UECgwLVmF1bHQgQ2FzZXMxEzARBgNVBAMMCkNhc2VzIFJvb3QwIBcN
        MjYxMTIzMTkxMzE0WhgPMjEyNjA3MjIxOTEzMTRaMDMxFDASBgNVBAoMC1ZhdWx0IENhc2VzMRswGQYDVQQDDBJDYXNlcyBJbnRlcm1lZGlhdGUw
        WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASnnktPFAKJJLcZ+FjKIdig9ADr3VW2iF4BMgofgKb8VK3N2xuFg7PB4c+P16jkWacjbiTi74Yokuhh
        8f7gVjLwo2MwYTAPBgNVHRMBAf8EBTADAQH/MA4GA1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUdtqx+qr3u3oMofLtDPu3jlhIbzYwHwYDVR0jBBgw
        FoAUE3ICmdlrRLc9WRS3XYtwAnbFxkowCgYIKoZIzj0EAwIDSAAwRQIgC29iZW3tAIZ4vi+q2YfG7RU6ME98uvZq2bngesFlC9kCIQCy6O9i80R6
        2iSrTPR5zGBXmpG9JSMurmgXtfhqz9zI6Q==
        """
    static let leaf = """
        MIIB7DCCAZGgAwIBAgIIGfn2tcL3CGswCgYIKoZIzj0EAwIwMzEUMBIGA1UECgwLVmF1bHQgQ2FzZXMxGzAZBgNVBAMMEkNhc2VzIEludGVybWVk
        aWF0ZTAgFw0yNjExMjMxOTEzMTRaGA8yMTI2MDcyMjE5MTMxNFowMDEUMBIGA1UECgwLVmF1bHQgQ2FzZXMxGDAWBgNVBAMMD3d3dy5leGFtcGxl
        LmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABE6YvvKs/QNe9kcuQuIWQtnt/BcezHizf+Iz2FwNuHkj2AcwRJr887OSsnciAf7YkHY0L8ZI
        1IkZPRJ7ENIuWd+jgY8wgYwwCQYDVR0TBAIwADAOBgNVHQ8BAf8EBAMCB4AwEwYDVR0lBAwwCgYIKwYBBQUHAwEwGgYDVR0RBBMwEYIPd3d3LmV4
        YW1wbGUuY29tMB0GA1UdDgQWBBRxVgiOpx0poWvfAku0E2wj3xaMuDAfBgNVHSMEGDAWgBR22rH6qve7egyh8u0M+7eOWEhvNjAKBggqhkjOPQQD
        AgNJADBGAiEAk5a8owv0X0QSy0v8cGcKp6U8W1sqo8omgl1kBdL8qH8CIQC9d+g9L1sGrtJEUSV95iJXLCT6md/BJRHfQGr4thmoSw==
        """
    static let secondOfLeafKey = """
        MIIBrDCCAVGgAwIBAgIIHYEOPvvMLfYwCgYIKoZIzj0EAwIwMzEUMBIGA1UECgwLVmF1bHQgQ2FzZXMxGzAZBgNVBAMMEkNhc2VzIEludGVybWVk
        aWF0ZTAgFw0yNjExMjMxOTEzMTRaGA8yMTI2MDcyMjE5MTMxNFowMzEUMBIGA1UECgwLVmF1bHQgQ2FzZXMxGzAZBgNVBAMMEnNlY29uZC5leGFt
        cGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABE6YvvKs/QNe9kcuQuIWQtnt/BcezHizf+Iz2FwNuHkj2AcwRJr887OSsnciAf7YkHY0
        L8ZI1IkZPRJ7ENIuWd+jTTBLMAkGA1UdEwQCMAAwHQYDVR0OBBYEFHFWCI6nHSmha98CS7QTbCPfFoy4MB8GA1UdIwQYMBaAFHbasfqq97t6DKHy
        7Qz7t45YSG82MAoGCCqGSM49BAMCA0kAMEYCIQDLD4tDzJ8BIC0JcMbxqFBnoR3NWEbXvNPHd7VvZKKs9AIhAMywD7rAdKPQpS1EFfMM711fpgZc
        IV3vB48ywW2Al/RN
        """
    static let twoCommonNames = """
        MIIBhTCCASygAwIBAgIBETAKBggqhkjOPQQDAjAhMQ4wDAYDVQQDDAVmaXJzdDEPMA0GA1UEAwwGc2Vjb25kMCAXDTI2MTEyMzE5MTMxNFoYDzIx
        MjUwNjE3MTkxMzE0WjAhMQ4wDAYDVQQDDAVmaXJzdDEPMA0GA1UEAwwGc2Vjb25kMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEogrrDJgabVc7
        k15bIt9R5VrCsXjosvCdrkigyA7H8qoiAQ3NfWA1pDvgd1+/rnQlpQ7L+JzZ6PuUdRdWfFa01qNTMFEwHQYDVR0OBBYEFBNyApnZa0S3PVkUt12L
        cAJ2xcZKMB8GA1UdIwQYMBaAFBNyApnZa0S3PVkUt12LcAJ2xcZKMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgKd2s/Ee2+KNU
        ZDO33ksa2NDWS5ZcKFpiAZpxboFnonwCIFyp7YhfXNBa2oUzoCUpq4OZQTGXLve3PPGByxYNiTca
        """
    static let unitAndOrganization = """
        MIIBnzCCAUagAwIBAgIBEjAKBggqhkjOPQQDAjAuMRkwFwYDVQQKDBBUaGUgT3JnYW5pemF0aW9uMREwDwYDVQQLDAhUaGUgVW5pdDAgFw0yNjEx
        MjMxOTEzMTRaGA8yMTI1MDYxNzE5MTMxNFowLjEZMBcGA1UECgwQVGhlIE9yZ2FuaXphdGlvbjERMA8GA1UECwwIVGhlIFVuaXQwWTATBgcqhkjO
        PQIBBggqhkjOPQMBBwNCAASiCusMmBptVzuTXlsi31HlWsKxeOiy8J2uSKDIDsfyqiIBDc19YDWkO+B3X7+udCWlDsv4nNno+5R1F1Z8VrTWo1Mw
        UTAdBgNVHQ4EFgQUE3ICmdlrRLc9WRS3XYtwAnbFxkowHwYDVR0jBBgwFoAUE3ICmdlrRLc9WRS3XYtwAnbFxkowDwYDVR0TAQH/BAUwAwEB/zAK
        BggqhkjOPQQDAgNHADBEAiBbhUPk2lKS1Y+8EMEBU9kuFMYrapmgA7nrY0Ed53eaMwIgVY3NgpujQI8wUD7ASrKlsYlrZuW8TzqZI+Jqh9U5QmE=
        """
    static let emailAndOrganization = """
        MIIBujCCAWCgAwIBAgIBEzAKBggqhkjOPQQDAjA7MRkwFwYDVQQKDBBUaGUgT3JnYW5pemF0aW9uMR4wHAYJKoZIhvcNAQkBFg9hZGFAZXhhbXBs
        ZS5jb20wIBcNMjYxMTIzMTkxMzE0WhgPMjEyNTA2MTcxOTEzMTRaMDsxGTAXBgNVBAoMEFRoZSBPcmdhbml6YXRpb24xHjAcBgkqhkiG9w0BCQEW
        D2FkYUBleGFtcGxlLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKIK6wyYGm1XO5NeWyLfUeVawrF46LLwna5IoMgOx/KqIgENzX1gNaQ7
        4Hdfv650JaUOy/ic2ej7lHUXVnxWtNajUzBRMB0GA1UdDgQWBBQTcgKZ2WtEtz1ZFLddi3ACdsXGSjAfBgNVHSMEGDAWgBQTcgKZ2WtEtz1ZFLdd
        i3ACdsXGSjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIQCw6ef30a2cKPH+YjqD0rPFNLIc+UAgqiU1ZQ2xsQg7CAIgYZu9CcVj
        UlQPDrqNQzg8rLSfuvoVGQ4V15ZC64kucTw=
        """
    static let organizationAndHost = """
        MIIBlTCCATygAwIBAgIBFDAKBggqhkjOPQQDAjAbMRkwFwYDVQQKDBBUaGUgT3JnYW5pemF0aW9uMCAXDTI2MTEyMzE5MTMxNFoYDzIxMjUwNjE3
        MTkxMzE0WjAbMRkwFwYDVQQKDBBUaGUgT3JnYW5pemF0aW9uMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEogrrDJgabVc7k15bIt9R5VrCsXjo
        svCdrkigyA7H8qoiAQ3NfWA1pDvgd1+/rnQlpQ7L+JzZ6PuUdRdWfFa01qNvMG0wHQYDVR0OBBYEFBNyApnZa0S3PVkUt12LcAJ2xcZKMB8GA1Ud
        IwQYMBaAFBNyApnZa0S3PVkUt12LcAJ2xcZKMA8GA1UdEwEB/wQFMAMBAf8wGgYDVR0RBBMwEYIPZG5zLmV4YW1wbGUuY29tMAoGCCqGSM49BAMC
        A0cAMEQCID5L6rDb51qOSlh4oSdSp32zF3vtRC2UdpBMM7xSAeqSAiBedZx3X/ChF4a4sQxWksXbb2PK3IKnvlvfI0ZxGiPoZQ==
        """
    static let nameAndDescription = """
        MIIBmjCCAUCgAwIBAgIBFTAKBggqhkjOPQQDAjArMREwDwYDVQQDDAhUaGUgTmFtZTEWMBQGA1UEDQwNYSBkZXNjcmlwdGlvbjAgFw0yNjExMjMx
        OTEzMTRaGA8yMTI1MDYxNzE5MTMxNFowKzERMA8GA1UEAwwIVGhlIE5hbWUxFjAUBgNVBA0MDWEgZGVzY3JpcHRpb24wWTATBgcqhkjOPQIBBggq
        hkjOPQMBBwNCAASiCusMmBptVzuTXlsi31HlWsKxeOiy8J2uSKDIDsfyqiIBDc19YDWkO+B3X7+udCWlDsv4nNno+5R1F1Z8VrTWo1MwUTAdBgNV
        HQ4EFgQUE3ICmdlrRLc9WRS3XYtwAnbFxkowHwYDVR0jBBgwFoAUE3ICmdlrRLc9WRS3XYtwAnbFxkowDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjO
        PQQDAgNIADBFAiBM2rkxtAMru6JCYK9shnmYFxH6+fcegmCn66YGP5N0MgIhAMTsI1J5Z9W1W9y0wiChE23As0ac3wfW32KlrYMS7QB2
        """
    static let withoutSubject = """
        MIIBQjCB6qADAgECAgEWMAoGCCqGSM49BAMCMAAwIBcNMjYxMTIzMTkxMzE0WhgPMjEyNTA2MTcxOTEzMTRaMAAwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAASiCusMmBptVzuTXlsi31HlWsKxeOiy8J2uSKDIDsfyqiIBDc19YDWkO+B3X7+udCWlDsv4nNno+5R1F1Z8VrTWo1MwUTAdBgNVHQ4E
        FgQUE3ICmdlrRLc9WRS3XYtwAnbFxkowHwYDVR0jBBgwFoAUE3ICmdlrRLc9WRS3XYtwAnbFxkowDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQD
        AgNHADBEAiASHlb5jLlpGVNuY4Xj5mjt2ImrXR39oIuIRKatsXXEIgIgUXVmVnSmkIF9+lM2TPKiJQuR6INvXTQDyy7Fpo6Hr8Q=
        """
    static let namesToNormalize = """
        MIIBVjCB/AIBFzAKBggqhkjOPQQDAjA2MQswCQYDVQQGEwJkZTESMBAGA1UEChMJU29tZSAgT3JnMRMwEQYDVQQDEwpNaXhlZCBDYXNlMCAXDTI2
        MTEyMzE5MTMxNFoYDzIxMjUwNjE3MTkxMzE0WjA2MQswCQYDVQQGEwJkZTESMBAGA1UEChMJU29tZSAgT3JnMRMwEQYDVQQDEwpNaXhlZCBDYXNl
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEogrrDJgabVc7k15bIt9R5VrCsXjosvCdrkigyA7H8qoiAQ3NfWA1pDvgd1+/rnQlpQ7L+JzZ6PuU
        dRdWfFa01jAKBggqhkjOPQQDAgNJADBGAiEA2Y1I6Bu/CTbKpc3dgBCgNqwNLS0eMPYsnqwQd+L87eMCIQDuuYZ/XcSSUjxNmoiORDcrcq5nvTRW
        HXKUUa+BYzoqTA==
        """
}
