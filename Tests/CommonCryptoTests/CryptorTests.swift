// SPDX-License-Identifier: Apache-2.0
import CommonCrypto
import Foundation
import TestSupport
import Testing

/// Input that is wrong, short, cut or overlapping gets Apple's status, and never a trap.
@Suite struct CryptorTests {
    private static let key = [UInt8](0..<16)
    private static let vector = [UInt8](16..<32)

    @Test func `a key of another length is refused`() {
        for (algorithm, good) in [
            (kCCAlgorithmAES, [16, 24, 32]), (kCCAlgorithmDES, [8]), (kCCAlgorithm3DES, [24]),
            (kCCAlgorithmCAST, Array(5...16)), (kCCAlgorithmRC4, [1, 2, 255, 512]), (kCCAlgorithmBlowfish, [8, 56]),
        ] {
            for length in Set(good.flatMap { [$0 - 1, $0, $0 + 1] } + [0, 1000]).sorted() {
                let made = Cryptor(
                    encrypt, kCCModeCBC, CCAlgorithm(algorithm), key: [UInt8](repeating: 7, count: length))
                let isGood =
                    good.contains(length)
                    || algorithm == kCCAlgorithmRC4 && (1...512).contains(length)
                    || algorithm == kCCAlgorithmBlowfish && (8...56).contains(length)
                #expect(
                    made.created == (isGood ? status(kCCSuccess) : status(kCCKeySizeError)), "\(algorithm) \(length)")
                #expect((made.reference != nil) == isGood)
            }
        }
        #expect(crypt(encrypt, key: [UInt8](0..<15), []).status == kCCKeySizeError)
    }

    @Test func `unknown operations, algorithms, modes and paddings are refused`() {
        #expect(Cryptor(2, kCCModeCBC, key: Self.key).created == kCCParamError)
        #expect(Cryptor(encrypt, kCCModeCBC, 7, key: Self.key).created == kCCParamError)
        #expect(Cryptor(encrypt, kCCModeCBC, padding: 2, key: Self.key).created == kCCParamError)
        for mode in [0, 12, 13, Int(UInt32.max)] {
            #expect(Cryptor(encrypt, mode, key: Self.key).created == kCCParamError, "\(mode)")
        }
        // F8, LRW, XTS: Apple's names for them are private.
        for mode in [5, 6, 8] { #expect(Cryptor(encrypt, mode, key: Self.key).created == kCCUnimplemented, "\(mode)") }
        #expect(Cryptor(encrypt, kCCModeCBC, CCAlgorithm(kCCAlgorithmRC2), key: Self.key).created == kCCUnimplemented)
        let des = [UInt8](0..<8)
        for mode in [kCCModeCTR, kCCModeGCM] {
            #expect(Cryptor(encrypt, mode, CCAlgorithm(kCCAlgorithmDES), key: des).created == kCCUnimplemented)
        }
    }

    @Test func `missing pointers are refused`() {
        var reference: CCCryptorRef?
        var moved = 5
        let algorithm = CCAlgorithm(kCCAlgorithmAES)
        #expect(CCCryptorCreate(encrypt, algorithm, 0, nil, 16, nil, &reference) == kCCParamError)
        #expect(CCCryptorCreate(encrypt, algorithm, 0, Self.key, 16, nil, nil) == kCCParamError)
        #expect(CCCryptorUpdate(nil, Self.key, 16, nil, 0, nil) == kCCParamError)
        #expect(CCCryptorReset(nil, nil) == kCCParamError && CCCryptorGetOutputLength(nil, 5, true) == 0)
        #expect(CCCryptorRelease(nil) == kCCSuccess && CCCryptorFinal(nil, nil, 0, nil) == kCCSuccess)
        withExtendedLifetime(Cryptor(encrypt, kCCModeCBC, padding: ccPKCS7Padding, key: Self.key)) { made in
            #expect(CCCryptorUpdate(made.reference, nil, 1, nil, 0, &moved) == kCCParamError && moved == 0)
            #expect(CCCryptorUpdate(made.reference, nil, 0, nil, 0, &moved) == kCCSuccess && moved == 0)
            #expect(CCCryptorUpdate(made.reference, Self.key, 16, nil, 16, &moved) == kCCParamError)
            #expect(CCCryptorFinal(made.reference, nil, 16, &moved) == kCCParamError && moved == 0)
            #expect(made.final().output.count == 16)
            #expect(CCCryptorUpdate(made.reference, Self.key, Int.max, nil, 0, nil) == kCCBufferTooSmall)
            #expect(CCCryptorUpdate(made.reference, Self.key, -1, nil, 0, nil) == kCCParamError)
        }
        #expect(CCCrypt(encrypt, algorithm, 1, Self.key, 16, nil, nil, 0, nil, 0, &moved) == kCCBufferTooSmall)
        #expect(moved == 16)
        #expect(CCCrypt(encrypt, algorithm, 1, Self.key, 16, nil, nil, 5, nil, 16, nil) == kCCParamError)
        #expect(CCCrypt(decrypt, algorithm, 1, Self.key, 16, nil, nil, 0, nil, 0, &moved) == kCCSuccess && moved == 0)
    }

    @Test func `a short buffer names the length, and nothing is lost`() {
        let text = [UInt8](repeating: 65, count: 40)
        for padding in [ccNoPadding, ccPKCS7Padding] {
            let cryptor = Cryptor(encrypt, kCCModeCBC, padding: padding, key: Self.key, vector: Self.vector)
            let other = Cryptor(encrypt, kCCModeCBC, padding: padding, key: Self.key, vector: Self.vector)
            let short = cryptor.update(text, room: 31)
            #expect(short.status == kCCBufferTooSmall && short.moved == 32)
            #expect(cryptor.update(text, room: 32).output == other.update(text).output)
            #expect(cryptor.final(room: 15).status == (padding == ccNoPadding ? kCCAlignmentError : kCCBufferTooSmall))
            #expect(cryptor.final(room: 16) == other.final())
        }
        let sealed = crypt(encrypt, key: Self.key, text).output
        #expect(sealed.count == 48)
        let cryptor = Cryptor(decrypt, kCCModeCBC, padding: ccPKCS7Padding, key: Self.key)
        #expect(cryptor.update(sealed).output == Array(text.prefix(32)))
        #expect(cryptor.final(room: 7).status == kCCBufferTooSmall)
        #expect(cryptor.update(sealed).status == kCCCallSequenceError)
        #expect(cryptor.final(room: 8).output == Array(text.suffix(8)))
        for (input, operation, needed) in [(text, encrypt, 48), (sealed, decrypt, 48)] {
            let short = crypt(operation, key: Self.key, input, room: needed - 1)
            #expect(short.status == kCCBufferTooSmall && short.moved == needed)
            #expect(crypt(operation, key: Self.key, input, room: needed).status == kCCSuccess)
        }
    }

    @Test func `an incomplete block is one where no padding fills it`() {
        let text = [UInt8](repeating: 1, count: 17)
        for options in [0, kCCOptionECBMode] {
            let result = crypt(encrypt, options: options, key: Self.key, text)
            #expect(result.status == kCCAlignmentError && result.moved == 16)
        }
        #expect(crypt(decrypt, key: Self.key, text).status == kCCAlignmentError)
        #expect(crypt(decrypt, key: Self.key, [1]).status == kCCAlignmentError)
        #expect(crypt(decrypt, key: Self.key, []).output == [])
        // A stream has no blocks.
        let stream = Cryptor(encrypt, kCCModeCTR, padding: ccPKCS7Padding, key: Self.key)
        #expect(stream.run([text]).output.count == 17)
    }

    @Test(arguments: [kCCModeECB, kCCModeCBC, kCCModeCFB, kCCModeCFB8, kCCModeOFB, kCCModeCTR, kCCModeGCM])
    func `pieces of any length give what the whole gives, in any order of buffers`(mode: Int) {
        let random = SeededRandom("pieces \(mode)")
        for _ in 0..<60 {
            let text = (0..<Int(random.uniform(200))).map { _ in UInt8(random.uniform(256)) }
            let padding = mode == kCCModeECB || mode == kCCModeCBC ? ccPKCS7Padding : ccNoPadding
            func make(_ operation: CCOperation) -> Cryptor {
                let cryptor = Cryptor(operation, mode, padding: padding, key: Self.key, vector: Self.vector)
                if mode == kCCModeGCM { _ = CCCryptorGCMSetIV(cryptor.reference, Self.vector, 12) }
                return cryptor
            }
            func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
                var (rest, made) = (bytes[...], [[UInt8]]())
                while !rest.isEmpty {
                    let count = 1 + Int(random.uniform(40))
                    made.append(Array(rest.prefix(count)))
                    rest = rest.dropFirst(count)
                }
                return made
            }
            let whole = make(encrypt).run([text])
            #expect(whole.status == kCCSuccess && make(encrypt).run(pieces(text)) == whole)
            #expect(make(decrypt).run(pieces(whole.output)) == (status(kCCSuccess), text))
            // Both buffers in one array, at any distance.
            for (operation, input, output) in [(encrypt, text, whole.output), (decrypt, whole.output, text)] {
                let (from, to) = (Int(random.uniform(60)), Int(random.uniform(60)))
                let cryptor = make(operation)
                var shared = [UInt8](repeating: 0, count: 400)
                var (done, taken) = ([UInt8](), 0)
                while taken < input.count {
                    let count = min(input.count - taken, 1 + Int(random.uniform(90)))
                    shared.replaceSubrange(from..<from + count, with: input[taken..<taken + count])
                    var moved = 0
                    let status = shared.withUnsafeMutableBytes {
                        CCCryptorUpdate(
                            cryptor.reference, $0.baseAddress! + from, count, $0.baseAddress! + to, 200, &moved)
                    }
                    #expect(status == kCCSuccess)
                    done += shared[to..<to + moved]
                    taken += count
                }
                #expect(done + cryptor.final().output == output)
            }
        }
    }

    @Test func `the length of an output is known before`() {
        for (mode, padding) in [(kCCModeCBC, ccNoPadding), (kCCModeECB, ccPKCS7Padding), (kCCModeCTR, ccNoPadding)] {
            for operation in [encrypt, decrypt] {
                for (held, length) in [(0, 0), (0, 16), (3, 12), (3, 13), (3, 14), (3, 45), (16, 16)] {
                    let cryptor = Cryptor(operation, mode, padding: padding, key: Self.key)
                    _ = cryptor.update([UInt8](repeating: 0, count: held))
                    let expected = CCCryptorGetOutputLength(cryptor.reference, length, false)
                    let whole = CCCryptorGetOutputLength(cryptor.reference, length, true)
                    let output = cryptor.update([UInt8](repeating: 0, count: length)).output
                    #expect(output.count == expected)
                    let end = cryptor.final()
                    if end.status == kCCSuccess {
                        #expect(output.count + end.output.count <= whole)
                        if operation == encrypt { #expect(output.count + end.output.count == whole) }
                    }
                }
            }
        }
        let cryptor = Cryptor(encrypt, kCCModeCBC, key: Self.key)
        #expect(CCCryptorGetOutputLength(cryptor.reference, -1, true) == 0)
    }

    @Test func `a reset begins again, with CBC and CTR`() {
        let text = [UInt8](repeating: 9, count: 33)
        for mode in [kCCModeCBC, kCCModeCTR] {
            let cryptor = Cryptor(encrypt, mode, padding: ccPKCS7Padding, key: Self.key, vector: Self.vector)
            _ = cryptor.update(text)
            #expect(CCCryptorReset(cryptor.reference, nil) == kCCSuccess)
            let zero = Cryptor(encrypt, mode, padding: ccPKCS7Padding, key: Self.key).run([text])
            #expect(cryptor.run([text]) == zero)
            #expect(CCCryptorReset(cryptor.reference, Self.vector) == kCCSuccess)
            let again = Cryptor(encrypt, mode, padding: ccPKCS7Padding, key: Self.key, vector: Self.vector)
            #expect(cryptor.run([text]) == again.run([text]))
        }
        for mode in [kCCModeECB, kCCModeCFB8, kCCModeGCM] {
            #expect(CCCryptorReset(Cryptor(encrypt, mode, key: Self.key).reference, nil) == kCCUnimplemented)
        }
    }

    @Test func `a cryptor goes on after its end`() {
        let cryptor = Cryptor(encrypt, kCCModeCBC, padding: ccPKCS7Padding, key: Self.key)
        let first = cryptor.run([[1, 2, 3]])
        let second = cryptor.run([[1, 2, 3]])
        #expect(first.status == kCCSuccess && second.status == kCCSuccess && first.output != second.output)
        var (reference, used) = (nil as CCCryptorRef?, 5)
        var room = [UInt8](repeating: 0, count: kCCContextSizeAES128)
        #expect(
            CCCryptorCreateFromData(
                encrypt, aes, 1, Self.key, 16, nil, &room, room.count, &reference, &used) == kCCSuccess)
        #expect(used == 0 && reference != nil && CCCryptorRelease(reference) == kCCSuccess)
    }

    @Test func `lengths beyond 32 bits need as much room`() {
        let stream = Cryptor(encrypt, kCCModeCTR, key: Self.key)
        var moved = 0
        let huge = 1 << 32
        var room: UInt64 = 0
        #expect(CCCryptorUpdate(stream.reference, Self.key, huge, &room, 8, &moved) == kCCBufferTooSmall)
        #expect(moved == huge)
        #expect(CCCrypt(encrypt, aes, 1, Self.key, 16, nil, Self.key, huge, nil, 0, &moved) == kCCBufferTooSmall)
        #expect(moved == huge + 16)
    }
}

/// Messages of GCM in parts, and its refusals.
@Suite struct GCMTests {
    private static let key = [UInt8](0..<32)
    private static let vector = [UInt8](0..<12)

    @Test func `another order of the calls is an error`() {
        let cryptor = Cryptor(encrypt, kCCModeGCM, key: Self.key)
        var tag = [UInt8](repeating: 0, count: 16)
        var length = 16
        var output: UInt8 = 0
        #expect(CCCryptorGCMAddAAD(cryptor.reference, Self.key, 5) == kCCUnspecifiedError)
        #expect(CCCryptorGCMEncrypt(cryptor.reference, Self.key, 1, &output) == kCCUnspecifiedError)
        #expect(CCCryptorGCMFinalize(cryptor.reference, &tag, 16) == kCCUnspecifiedError)
        #expect(CCCryptorGCMSetIV(cryptor.reference, Self.vector, 11) == kCCParamError)
        #expect(CCCryptorGCMSetIV(cryptor.reference, Self.vector, 12) == kCCSuccess)
        #expect(CCCryptorGCMSetIV(cryptor.reference, Self.vector, 12) == kCCUnspecifiedError)
        #expect(CCCryptorGCMEncrypt(cryptor.reference, Self.key, 1, &output) == kCCSuccess)
        #expect(CCCryptorGCMAddAAD(cryptor.reference, Self.key, 5) == kCCUnspecifiedError)
        for bad in [7, 17] { #expect(CCCryptorGCMFinalize(cryptor.reference, &tag, bad) == kCCParamError) }
        #expect(CCCryptorGCMFinalize(cryptor.reference, &tag, 16) == kCCSuccess)
        #expect(CCCryptorGCMEncrypt(cryptor.reference, Self.key, 1, &output) == kCCUnspecifiedError)
        #expect(CCCryptorGCMFinal(cryptor.reference, &tag, &length) == kCCUnspecifiedError)
        #expect(CCCryptorGCMReset(cryptor.reference) == kCCSuccess)
        #expect(CCCryptorGCMSetIV(cryptor.reference, Self.vector, 12) == kCCSuccess)
        // A cryptor of another mode, and none.
        let other = Cryptor(encrypt, kCCModeCTR, key: Self.key)
        for reference in [other.reference, nil] {
            #expect(CCCryptorGCMSetIV(reference, Self.vector, 12) == kCCParamError)
            #expect(CCCryptorGCMAddAAD(reference, Self.vector, 12) == kCCParamError)
            #expect(CCCryptorGCMEncrypt(reference, Self.key, 1, &output) == kCCParamError)
            #expect(CCCryptorGCMFinalize(reference, &tag, 16) == kCCParamError)
            #expect(CCCryptorGCMReset(reference) == kCCParamError)
        }
    }

    @Test func `a message of one call takes no other lengths`() {
        var (output, tag) = ([UInt8](repeating: 0, count: 5), [UInt8](repeating: 0, count: 16))
        func seal(_ algorithm: CCAlgorithm = aes, key: Int = 32, vector: Int = 12, tag length: Int = 16)
            -> CCCryptorStatus
        {
            CCCryptorGCMOneshotEncrypt(
                algorithm, Self.key, key, Self.vector, vector, nil, 0, Self.key, 5, &output, &tag, length)
        }
        #expect(seal() == kCCSuccess && seal(tag: 8) == kCCSuccess)
        for length in [15, 17, 31, 33, 0] { #expect(seal(key: length) == kCCKeySizeError) }
        for length in [0, 11] { #expect(seal(vector: length) == kCCParamError) }
        for length in [0, 7, 17] { #expect(seal(tag: length) == kCCParamError) }
        #expect(seal(CCAlgorithm(kCCAlgorithmDES)) == kCCParamError)
        #expect(
            CCCryptorGCMOneshotEncrypt(aes, nil, 32, Self.vector, 12, nil, 0, nil, 0, &output, &tag, 16)
                == kCCParamError)
        #expect(
            CCCryptorGCMOneshotEncrypt(aes, Self.key, 32, Self.vector, 12, nil, 1, nil, 0, &output, &tag, 16)
                == kCCParamError)
        #expect(
            CCCryptorGCMOneshotEncrypt(aes, Self.key, 32, Self.vector, 12, nil, 0, nil, 1, &output, &tag, 16)
                == kCCParamError)
    }

    @Test func `the buffers of a message may overlap at any distance`() {
        let text = [UInt8](0..<100)
        var tag = [UInt8](repeating: 0, count: 16)
        for from in 0..<40 {
            var (shared, expected) = ([UInt8](repeating: 0, count: 200), [UInt8](repeating: 0, count: 100))
            _ = CCCryptorGCMOneshotEncrypt(aes, Self.key, 32, Self.vector, 12, nil, 0, text, 100, &expected, &tag, 16)
            shared.replaceSubrange(from..<from + 100, with: text)
            shared.withUnsafeMutableBytes { shared in
                let (input, output) = (shared.baseAddress! + from, shared.baseAddress! + 20)
                #expect(
                    CCCryptorGCMOneshotEncrypt(
                        aes, Self.key, 32, Self.vector, 12, nil, 0, input, 100, output, &tag, 16) == kCCSuccess)
                #expect(Array(shared[20..<120]) == expected)
                #expect(
                    CCCryptorGCMOneshotDecrypt(
                        aes, Self.key, 32, Self.vector, 12, nil, 0, output, 100, output + 7, tag, 16) == kCCSuccess)
                #expect(Array(shared[27..<127]) == text)
            }
        }
    }

    @Test func `the older call of one message returns the tag in both directions`() {
        var (sealed, opened) = ([UInt8](repeating: 0, count: 9000), [UInt8](repeating: 0, count: 9000))
        var (tag, again, length) = ([UInt8](repeating: 0, count: 16), [UInt8](repeating: 0, count: 16), 16)
        let text = [UInt8](repeating: 3, count: 9000)
        #expect(
            CCCryptorGCM(
                encrypt, aes, Self.key, 32, Self.vector, 12, Self.key, 3, text, text.count, &sealed, &tag, &length)
                == kCCSuccess)
        #expect(
            CCCryptorGCM(
                decrypt, aes, Self.key, 32, Self.vector, 12, Self.key, 3, sealed, sealed.count, &opened, &again, &length
            )
                == kCCSuccess)
        #expect(opened == text && tag == again && sealed != text)
    }
}
