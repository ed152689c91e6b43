# SPDX-License-Identifier: Apache-2.0
"""A FIDO2 security key in software: CTAPHID and CTAP 2.0, with hmac-secret, credProtect, and PIN protocol 1.

    securitykey.py --serve DIRECTORY SOCKET [MANNER ...]
                          answers at a socket until the end of the input, and prints "ready"; a line of the
                          input inserts the key again
    securitykey.py --set-pin DIRECTORY PIN
    securitykey.py DIRECTORY[=MANNER+...][:...] COMMAND [ARGUMENT ...]
                          runs a command that finds one or several keys where the kernel has its devices

A - in the place of the directories is no key. DIRECTORY keeps the key's secret, its PIN and its counter of tries, so the same directory is the same key. The file `log`
in it has a line for each request that the key was sent. A report is a packet of a Unix socket. Manners:

    u2f          has no FIDO2                     no-secrets   has no hmac-secret
    untouched    is never touched                 refusing     its holder refuses
    aside        answers no touch among several   pulled-N     is pulled out at the Nth touch
    finger       has a fingerprint                wrong-finger has one, of another person
    forgetful    reports no hmac-secret output    busy         is in use
    strict       answers nothing unverified       numb         takes a finger for nothing
    long         has identifiers of 820 bytes
"""
import hashlib, hmac, json, os, socket, struct, subprocess, sys, threading

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fido2 import cbor

INIT, MSG, CBOR, CANCEL, KEEPALIVE, ERROR = 0x06, 0x03, 0x10, 0x11, 0x3B, 0x3F
MISSING, DENIED, BUSY, UNSUPPORTED_OPTION, CANCELLED, NO_CREDENTIALS = 0x14, 0x27, 0x06, 0x2B, 0x2D, 0x2E
TIMEOUT, PIN_INVALID, PIN_BLOCKED, PIN_AUTH_INVALID, PIN_AUTH_BLOCKED = 0x2F, 0x31, 0x32, 0x33, 0x34
PIN_NOT_SET, PIN_REQUIRED, UV_INVALID = 0x35, 0x36, 0x3F
BROADCAST = 0xFFFFFFFF
PRESENT, VERIFIED, ATTESTED, EXTENDED = 0x01, 0x04, 0x40, 0x80
AAGUID = bytes(16)


class Status(Exception):
    pass


class Pulled(Exception):
    pass


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def cbc(key, data, encrypts):
    cipher = Cipher(algorithms.AES(key), modes.CBC(bytes(16)))
    action = cipher.encryptor() if encrypts else cipher.decryptor()
    return action.update(data) + action.finalize()


def cose(public):
    point = public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return point[1:33], point[33:]


class Key:
    """The state of a key, which outlives its connections."""

    def __init__(self, directory, manners):
        self.directory, self.manners = directory, set(manners)
        os.makedirs(directory, exist_ok=True)
        self.file = os.path.join(directory, "key.json")
        if os.path.exists(self.file):
            self.state = json.load(open(self.file))
        else:
            self.state = {"secret": os.urandom(32).hex(), "pin": None, "tries": 8}
            self.save()
        self.secret = bytes.fromhex(self.state["secret"])
        self.touches = 0
        self.reinsert()

    def reinsert(self):
        self.agreement = ec.generate_private_key(ec.SECP256R1())
        self.pin_token = os.urandom(32)
        self.failures = 0

    def save(self):
        json.dump(self.state, open(self.file, "w"))

    def log(self, line):
        with open(os.path.join(self.directory, "log"), "a") as log:
            log.write(line + "\n")

    # The holder

    def touch(self, connection):
        connection.keep_alive()
        self.touches += 1
        if "pulled-%d" % self.touches in self.manners:
            raise Pulled
        if "untouched" in self.manners:
            raise Status(TIMEOUT)
        if "refusing" in self.manners:
            raise Status(DENIED)
        self.log("touch")

    def is_verified(self, code, protocol, data, options):
        if code is not None:
            if self.state["pin"] is None:
                raise Status(PIN_NOT_SET)
            if protocol != 1 or not hmac.compare_digest(mac(self.pin_token, data)[:16], code):
                raise Status(PIN_AUTH_INVALID)
            return True
        if options.get("uv"):
            if "wrong-finger" in self.manners:
                raise Status(UV_INVALID)
            if "numb" in self.manners:
                return False
            if "finger" not in self.manners:
                raise Status(UNSUPPORTED_OPTION)
            return True
        return False

    def shared(self, other):
        point = b"\4" + other[-2] + other[-3]
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        return hashlib.sha256(self.agreement.exchange(ec.ECDH(), theirs)).digest()

    # Credentials: the key keeps none, and knows its own by a code.

    def identifier(self, party, nonce, protection):
        head = nonce + bytes([protection])
        identifier = head + mac(self.secret, b"identifier", party, head)[:16]
        return identifier.ljust(820, b"\0") if "long" in self.manners else identifier

    def known(self, party, identifier, verified):
        if len(identifier) < 49 or identifier != self.identifier(party, identifier[:32], identifier[32]):
            return False
        return verified or identifier[32] < 3

    def signer(self, identifier):
        number = int.from_bytes(mac(self.secret, b"signer", identifier), "big")
        order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
        return ec.derive_private_key(number % (order - 1) + 1, ec.SECP256R1())

    # Commands

    def answer(self, command, parameters, connection):
        names = {1: "make", 2: "get", 4: "info", 6: "pin"}
        self.log(names.get(command, hex(command)))
        if command == 4:
            return self.info()
        if command == 6:
            return self.client_pin(parameters)
        if command == 1:
            return self.make(parameters, connection)
        if command == 2:
            return self.get(parameters, connection)
        raise Status(1)

    def info(self):
        options = {"rk": True, "up": True, "clientPin": self.state["pin"] is not None}
        if {"finger", "wrong-finger", "numb"} & self.manners:
            options["uv"] = True
        extensions = ["credProtect"] + ([] if "no-secrets" in self.manners else ["hmac-secret"])
        return {1: ["FIDO_2_0"], 2: extensions, 3: AAGUID, 4: options, 5: 1200, 6: [1]}

    def client_pin(self, parameters):
        action = parameters[2]
        if action == 1:
            return {3: self.state["tries"]}
        if action == 2:
            x, y = cose(self.agreement.public_key())
            return {1: {1: 2, 3: -25, -1: 1, -2: x, -3: y}}
        if action != 5:
            raise Status(1)
        if self.state["pin"] is None:
            raise Status(PIN_NOT_SET)
        if self.state["tries"] == 0:
            raise Status(PIN_BLOCKED)
        if self.failures == 3:
            raise Status(PIN_AUTH_BLOCKED)
        theirs = parameters[3]
        point = b"\4" + theirs[-2] + theirs[-3]
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
        shared = hashlib.sha256(self.agreement.exchange(ec.ECDH(), public)).digest()
        if cbc(shared, parameters[6], False) != hashlib.sha256(self.state["pin"].encode()).digest()[:16]:
            self.state["tries"] -= 1
            self.save()
            self.failures += 1
            self.agreement = ec.generate_private_key(ec.SECP256R1())
            if self.state["tries"] == 0:
                raise Status(PIN_BLOCKED)
            raise Status(PIN_AUTH_BLOCKED if self.failures == 3 else PIN_INVALID)
        self.state["tries"], self.failures = 8, 0
        self.save()
        return {2: cbc(shared, self.pin_token, True)}

    def make(self, parameters, connection):
        if parameters.get(8) == b"":
            if "aside" in self.manners:
                connection.await_cancellation()
                raise Status(CANCELLED)
            self.touch(connection)
            raise Status(PIN_INVALID if self.state["pin"] else PIN_NOT_SET)
        options, extensions = parameters.get(7, {}), parameters.get(6, {})
        verified = self.is_verified(parameters.get(8), parameters.get(9), parameters[1], options)
        if self.state["pin"] is not None and not verified:
            raise Status(PIN_REQUIRED)
        if "aside" in self.manners and parameters[2]["id"] != "vault:slot":
            connection.await_cancellation()
            raise Status(CANCELLED)
        self.touch(connection)
        party = hashlib.sha256(parameters[2]["id"].encode()).digest()
        protection = extensions.get("credProtect", 1)
        identifier = self.identifier(party, os.urandom(32), protection)
        signer = self.signer(identifier)
        x, y = cose(signer.public_key())
        public = {1: 2, 3: -7, -1: 1, -2: x, -3: y}
        flags = PRESENT | ATTESTED | (VERIFIED if verified else 0)
        results = {}
        if "credProtect" in extensions:
            results["credProtect"] = protection
        if extensions.get("hmac-secret") and "no-secrets" not in self.manners:
            results["hmac-secret"] = True
        attested = AAGUID + struct.pack(">H", len(identifier)) + identifier + cbor.encode(public)
        data = self.authenticator_data(party, flags, attested, results)
        signature = signer.sign(data + parameters[1], ec.ECDSA(hashes.SHA256()))
        return {1: "packed", 2: data, 3: {"alg": -7, "sig": signature}}

    def get(self, parameters, connection):
        options, extensions = parameters.get(5, {}), parameters.get(4, {})
        verified = self.is_verified(parameters.get(6), parameters.get(7), parameters[2], options)
        if "strict" in self.manners and not verified:
            raise Status(PIN_REQUIRED)
        party = hashlib.sha256(parameters[1].encode()).digest()
        identifiers = [one["id"] for one in parameters.get(3, [])]
        own = [one for one in identifiers if self.known(party, one, verified)]
        if not own:
            raise Status(NO_CREDENTIALS)
        present = options.get("up", True)
        if present:
            self.touch(connection)
        results = {}
        request = extensions.get("hmac-secret")
        if request and "forgetful" not in self.manners:
            if not present:
                raise Status(UNSUPPORTED_OPTION)
            results["hmac-secret"] = self.computed(own[0], request, verified)
        flags = (PRESENT if present else 0) | (VERIFIED if verified else 0)
        data = self.authenticator_data(party, flags, b"", results)
        signature = self.signer(own[0]).sign(data + parameters[2], ec.ECDSA(hashes.SHA256()))
        return {1: {"id": own[0], "type": "public-key"}, 2: data, 3: signature}

    def computed(self, identifier, request, verified):
        """Two secrets for each credential, as CTAP 2.1 has it: with verification and without."""
        shared = self.shared(request[1])
        if not hmac.compare_digest(mac(shared, request[2])[:16], request[3]):
            raise Status(PIN_AUTH_INVALID)
        random = mac(self.secret, b"verified" if verified else b"present", identifier)
        salts = cbc(shared, request[2], False)
        outputs = b"".join(mac(random, salts[at : at + 32]) for at in range(0, len(salts), 32))
        return cbc(shared, outputs, True)

    def authenticator_data(self, party, flags, attested, results):
        end = cbor.encode(results) if results else b""
        return party + bytes([flags | (EXTENDED if results else 0)]) + bytes(4) + attested + end


class Connection:
    """The reports of one program: 64 bytes each, after a byte for the report's number in what the program sends."""

    def __init__(self, stream, key):
        self.stream, self.key, self.channel = stream, key, None

    def receive(self):
        report = self.stream.recv(65)
        if not report:
            raise Pulled
        return report[1:]

    def message(self):
        report = self.receive()
        self.channel, command, length = struct.unpack(">IBH", report[:7])
        data = report[7 : 7 + length]
        while len(data) < length:
            data += self.receive()[5 : 5 + length - len(data)]
        return command & 0x7F, data

    def send(self, command, data):
        head = struct.pack(">IBH", self.channel, command | 0x80, len(data))
        self.stream.send((head + data[:57]).ljust(64, b"\0"))
        for number, start in enumerate(range(57, len(data), 59)):
            part = struct.pack(">IB", self.channel, number) + data[start : start + 59]
            self.stream.send(part.ljust(64, b"\0"))

    def keep_alive(self):
        self.send(KEEPALIVE, b"\2")

    def await_cancellation(self):
        while self.message()[0] != CANCEL:
            pass

    def serve(self):
        while True:
            command, data = self.message()
            if command == INIT:
                flags = 0 if "u2f" in self.key.manners else 0x0C
                self.send(INIT, data[:8] + struct.pack(">IBBBBB", 1, 2, 1, 0, 0, flags))
            elif command == CBOR and "busy" in self.key.manners:
                self.send(ERROR, bytes([BUSY]))
            elif command == CBOR:
                try:
                    parameters = cbor.decode(data[1:]) if len(data) > 1 else {}
                    answer = b"\0" + cbor.encode(self.key.answer(data[0], parameters, self))
                except Status as status:
                    answer = bytes([status.args[0]])
                self.send(CBOR, answer)
            elif command != CANCEL:
                self.send(ERROR, b"\1")


def listen(key, path):
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(8)
    return listener


def serve(key, listener):
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=converse, args=[key, stream], daemon=True).start()


def converse(key, stream):
    try:
        Connection(stream, key).serve()
    except (Pulled, ConnectionError):
        pass
    stream.close()


def run(keys, command):
    sockets = []
    for name in keys.split(":") if keys != "-" else []:
        directory, _, manners = name.partition("=")
        key = Key(os.path.abspath(directory), manners.split("+"))
        sockets.append(os.path.join(key.directory, "socket"))
        listener = listen(key, sockets[-1])
        threading.Thread(target=serve, args=[key, listener], daemon=True).start()
    library = os.path.abspath("hidraw.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hidraw.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    environment = dict(os.environ, LD_PRELOAD=library, SECURITY_KEYS=":".join(sockets))
    os._exit(subprocess.run(command, env=environment).returncode & 0xFF)


if sys.argv[1] == "--set-pin":
    key = Key(sys.argv[2], [])
    key.state["pin"], key.state["tries"] = sys.argv[3], 8
    key.save()
elif sys.argv[1] == "--serve":
    key = Key(sys.argv[2], sys.argv[4:])
    listener = listen(key, sys.argv[3])
    threading.Thread(target=serve, args=[key, listener], daemon=True).start()
    print("ready", flush=True)
    for _ in sys.stdin:
        key.reinsert()
        print("ready", flush=True)
else:
    run(sys.argv[1], sys.argv[2:])
