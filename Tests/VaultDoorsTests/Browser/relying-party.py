# SPDX-License-Identifier: Apache-2.0
"""A relying party over python-fido2: reads ceremonies as JSON from standard input, and prints a line for each."""
import json
import sys

from cryptography.hazmat.primitives.serialization import load_der_public_key
from fido2.client import ClientData
from fido2.ctap2 import AttestationObject, AttestedCredentialData, AuthenticatorData
from fido2.server import Fido2Server
from fido2.utils import websafe_decode
from fido2.webauthn import PublicKeyCredentialRpEntity

BACKUP_ELIGIBLE, BACKED_UP = 8, 16


def backup(data):
    assert data.flags & BACKUP_ELIGIBLE
    return "backed up" if data.flags & BACKED_UP else "not backed up"


credentials = {}
for ceremony in json.load(sys.stdin):
    site = Fido2Server(
        PublicKeyCredentialRpEntity(ceremony["site"], "site"), verify_origin=lambda origin: origin == ceremony["origin"])
    state = {"challenge": ceremony["challenge"], "user_verification": ceremony["verification"]}
    answer = ceremony["answer"]["response"]
    client = ClientData(websafe_decode(answer["clientDataJSON"]))
    try:
        if "attestationObject" in answer:
            data = site.register_complete(
                state, client, AttestationObject(websafe_decode(answer["attestationObject"])))
            assert websafe_decode(answer["authenticatorData"]) == bytes(data)
            assert websafe_decode(ceremony["answer"]["id"]) == data.credential_data.credential_id
            key = data.credential_data.public_key
            encoded = load_der_public_key(websafe_decode(answer["publicKey"]))
            assert key.from_cryptography_key(encoded) == key and answer["publicKeyAlgorithm"] == key.ALGORITHM
            credentials.setdefault(ceremony["site"], []).append(AttestedCredentialData(bytes(data.credential_data)))
            print("registered", key.ALGORITHM, data.is_user_verified(), backup(data))
        else:
            data = AuthenticatorData(websafe_decode(answer["authenticatorData"]))
            site.authenticate_complete(
                state, credentials[ceremony["site"]], websafe_decode(ceremony["answer"]["id"]), client, data,
                websafe_decode(answer["signature"]))
            print("signed in", data.counter, data.is_user_verified(), backup(data))
    except (AssertionError, KeyError, ValueError) as error:
        print("refused:", error)
