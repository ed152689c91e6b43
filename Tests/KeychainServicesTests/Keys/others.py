# SPDX-License-Identifier: Apache-2.0
# Runs operations of Python's cryptography on a key: lines of words in, hexadecimal out.
import sys
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, utils
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import load_der_private_key, load_der_public_key

CURVES = {65: ec.SECP256R1(), 97: ec.SECP384R1(), 133: ec.SECP521R1()}
HASHES = {"SHA1": hashes.SHA1(), "SHA256": hashes.SHA256(), "SHA512": hashes.SHA512()}


def private(data):
    if data[0] == 0x30:
        return load_der_private_key(data, None)
    length = {97: 32, 145: 48, 199: 66}[len(data)]
    curve = CURVES[1 + 2 * length]
    return ec.derive_private_key(int.from_bytes(data[1 + 2 * length:], "big"), curve)


def public(data):
    if data[0] == 4:
        return ec.EllipticCurvePublicKey.from_encoded_point(CURVES[len(data)], data)
    # Wraps PKCS#1 in a SubjectPublicKeyInfo, the form that the library reads.
    bits = bytes([3, 0x82]) + (len(data) + 1).to_bytes(2, "big") + b"\0" + data
    head = bytes.fromhex("300d06092a864886f70d0101010500")
    return load_der_public_key(b"\x30\x82" + (len(head) + len(bits)).to_bytes(2, "big") + head + bits)


def pad(name, chosen):
    if name == "PSS":
        return padding.PSS(padding.MGF1(chosen), chosen.digest_size)
    if name == "OAEP":
        return padding.OAEP(padding.MGF1(chosen), chosen, None)
    return padding.PKCS1v15()


for line in sys.stdin:
    verb, scheme, chosen, key, first, second = line.split()
    chosen = HASHES.get(chosen)
    key, first, second = (bytes.fromhex(word) if word != "-" else b"" for word in (key, first, second))
    how = (ec.ECDSA(chosen),) if scheme == "ECDSA" else (pad(scheme, chosen), chosen) if scheme != "ECDH" else ()
    try:
        if verb == "sign":
            print(private(key).sign(first, *how).hex())
        elif verb == "verify":
            public(key).verify(second, first, *how)
            print("00")
        elif verb == "encrypt":
            print(public(key).encrypt(first, how[0]).hex())
        elif verb == "decrypt":
            print(private(key).decrypt(first, how[0]).hex())
        elif verb == "exchange":
            print(private(key).exchange(ec.ECDH(), public(first)).hex())
    except InvalidSignature:
        print("ff")
