# SPDX-License-Identifier: Apache-2.0
"""A private bus that ends with the script, with gnome-keyring or a provider of org.freedesktop.secrets that has a single fault.

    secrets.py DIRECTORY nothing             the bus is at DIRECTORY/bus
    secrets.py DIRECTORY keyring             gnome-keyring-daemon, its login collection unlocked, with some items
    secrets.py DIRECTORY provider SCENARIO   a stand-in

Says "ready", then reads a command a line and answers each with a line: `lock`, `restart` and `fill COUNT` of gnome-keyring, `stop` of the bus, `asked`
for the methods that the stand-in was called by, `pid` of the provider, `seen PID` for how often the secret of `marked` is in the memory of a process.
"""
import atexit, ctypes, hashlib, hmac, os, select, signal, socket, struct, subprocess, sys

# The parent process may have blocked the signal that ends this one.
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
signal.pthread_sigmask(signal.SIG_SETMASK, [])
children = []


@atexit.register
def end_children():
    for child in children:
        child.kill()
        child.wait()


home, kind = sys.argv[1:3]
ROOT = "/org/freedesktop/secrets"
PASSWORD = b"of the keyring"
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F1437"
    "4FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)


def dies_with_parent():
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG


# --- D-Bus, as far as needed: values are written and read by their signature, a variant is (signature, value).

def one(signature):
    """Returns the first complete type of a signature, and the rest."""
    if signature[0] == "a":
        first, rest = one(signature[1:])
        return "a" + first, rest
    if signature[0] in "({":
        depth = 0
        for end, letter in enumerate(signature):
            depth += (letter in "({") - (letter in ")}")
            if depth == 0:
                return signature[: end + 1], signature[end + 1 :]
    return signature[0], signature[1:]


def types(signature):
    while signature:
        first, signature = one(signature)
        yield first


ALIGNMENT = {"y": 1, "g": 1, "v": 1, "b": 4, "u": 4, "s": 4, "o": 4, "a": 4, "t": 8, "(": 8, "{": 8}


def put(out, form, value):
    out += b"\0" * (-len(out) % ALIGNMENT[form[0]])
    if form == "y":
        out.append(value)
    elif form in "bu":
        out += struct.pack("<I", value)
    elif form == "t":
        out += struct.pack("<Q", value)
    elif form in "so":
        text = value.encode()
        out += struct.pack("<I", len(text)) + text + b"\0"
    elif form == "g":
        out += struct.pack("<B", len(value)) + value.encode() + b"\0"
    elif form == "v":
        put(out, "g", value[0])
        put(out, value[0], value[1])
    elif form == "ay":
        out += struct.pack("<I", len(value)) + bytes(value)
    elif form[0] == "a":
        at = len(out)
        out += b"\0" * 4
        out += b"\0" * (-len(out) % ALIGNMENT[form[1]])
        start = len(out)
        for element in value.items() if isinstance(value, dict) else value:
            put(out, form[1:], element)
        out[at : at + 4] = struct.pack("<I", len(out) - start)
    else:
        for part, element in zip(types(form[1:-1]), value):
            put(out, part, element)


def get(data, at, form):
    at += -at % ALIGNMENT[form[0]]
    if form == "y":
        return data[at], at + 1
    if form in "bu":
        return struct.unpack_from("<I", data, at)[0], at + 4
    if form == "t":
        return struct.unpack_from("<Q", data, at)[0], at + 8
    if form in "so":
        length = struct.unpack_from("<I", data, at)[0]
        return data[at + 4 : at + 4 + length].decode(), at + 5 + length
    if form == "g":
        return data[at + 1 : at + 1 + data[at]].decode(), at + 2 + data[at]
    if form == "v":
        form, at = get(data, at, "g")
        return get(data, at, form)
    if form[0] == "a":
        length = struct.unpack_from("<I", data, at)[0]
        at += 4
        at += -at % ALIGNMENT[form[1]]
        if form == "ay":
            return bytes(data[at : at + length]), at + length
        end, values = at + length, []
        while at < end:
            value, at = get(data, at, form[1:])
            values.append(value)
        return dict(values) if form[1] == "{" else values, at
    values = []
    for part in types(form[1:-1]):
        value, at = get(data, at, part)
        values.append(value)
    return tuple(values), at


class Bus:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(home + "/bus")
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        assert self.socket.recv(1000).startswith(b"OK")
        self.socket.sendall(b"BEGIN\r\n")
        self.pending, self.serial = bytearray(), 0
        self.name = self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")[0]

    def send(self, kind, fields, signature="", *values):
        self.serial += 1
        body = bytearray()
        for form, value in zip(types(signature), values):
            put(body, form, value)
        if signature:
            fields = fields + [(8, ("g", signature))]
        message = bytearray()
        put(message, "y", ord("l"))
        put(message, "y", kind)
        put(message, "y", 0 if kind == 1 else 1)
        put(message, "y", 1)
        put(message, "u", len(body))
        put(message, "u", self.serial)
        put(message, "a(yv)", fields)
        message += b"\0" * (-len(message) % 8) + body
        self.socket.sendall(message)
        return self.serial

    def receive(self):
        """Returns the next message: (kind, serial, fields, values)."""
        while True:
            if len(self.pending) >= 16:
                length, number, fields_length = struct.unpack_from("<III", self.pending, 4)
                start = 16 + fields_length + (-fields_length % 8)
                if len(self.pending) >= start + length:
                    break
            part = self.socket.recv(1 << 20)
            if not part:
                sys.exit()
            self.pending += part
        kind = self.pending[1]
        fields = dict(get(self.pending, 12, "a(yv)")[0])
        body, at, values = self.pending[start : start + length], 0, []
        for form in types(fields.get(8, "")):
            value, at = get(body, at, form)
            values.append(value)
        del self.pending[: start + length]
        return kind, number, fields, values

    def call(self, destination, path, interface, member, signature="", *values):
        serial = self.send(1, [(1, ("o", path)), (3, ("s", member)), (2, ("s", interface)), (6, ("s", destination))], signature, *values)
        while True:
            kind, _, fields, values = self.receive()
            if kind in (2, 3) and fields.get(5) == serial:
                if kind == 3:
                    raise RuntimeError(fields[4], values)
                return values

    def ask(self, member, signature="", *values):
        return self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, signature, *values)

    def wait_for_secrets(self):
        self.ask("AddMatch", "s", "type='signal',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.secrets'")
        while not self.ask("NameHasOwner", "s", "org.freedesktop.secrets")[0]:
            while self.receive()[2].get(3) != "NameOwnerChanged":
                pass


# --- the bus

with open(home + "/bus.conf", "w") as config:
    config.write(
        f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig><type>session</type><listen>unix:path={home}/bus</listen><policy context="default">
        <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
        <limit name="max_message_size">1000000000</limit><limit name="max_incoming_bytes">1000000000</limit>
        <limit name="max_outgoing_bytes">1000000000</limit></busconfig>"""
    )
runtime = home + "/run"
os.makedirs(runtime, 0o700)
environment = {
    "HOME": home, "XDG_RUNTIME_DIR": runtime, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={home}/bus", "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"
}
daemon = subprocess.Popen(
    ["dbus-daemon", "--config-file", home + "/bus.conf", "--nofork", "--nopidfile", "--print-address=1"],
    stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, preexec_fn=dies_with_parent)
children.append(daemon)
daemon.stdout.readline()


def answer(text="done"):
    print(text, flush=True)


def commands(extra={}, provider=None):
    """Reads commands until the end of standard input."""
    answer("ready")
    text = bytearray()
    while True:
        if provider:
            provider.handle()
        ready = select.select([0] + ([provider.bus.socket] if provider and not provider.is_gone else []), [], [])[0]
        if 0 not in ready:
            continue
        part = os.read(0, 4096)
        text += part
        while b"\n" in text:
            line, _, text = text.partition(b"\n")
            name, *arguments = line.decode().split()
            if name == "stop":
                daemon.kill()
                daemon.wait()
                answer()
            else:
                answer(extra[name](*arguments))
        if not part:
            sys.exit()


# --- gnome-keyring

keyring = None


def start_keyring():
    global keyring
    keyring = subprocess.Popen(
        ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets", "--control-directory=" + runtime + "/keyring"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, preexec_fn=dies_with_parent)
    children.append(keyring)
    keyring.stdin.write(PASSWORD)
    keyring.stdin.close()
    Bus().wait_for_secrets()


def run_keyring():
    start_keyring()
    bus = Bus()

    def secrets(path, interface, member, signature="", *values):
        return bus.call("org.freedesktop.secrets", path, interface, member, signature, *values)

    def session():
        return secrets(ROOT, "org.freedesktop.Secret.Service", "OpenSession", "sv", "plain", ("s", ""))[1]

    def tool(label, secret, *attributes, collection=None):
        options = ["--collection=" + collection] if collection else []
        subprocess.run(["secret-tool", "store", "--label=" + label, *options, *attributes], input=secret, env=environment, check=True)

    def create(session, collection, label, attributes, secret, kind="text/plain"):
        properties = {"org.freedesktop.Secret.Item.Label": ("s", label), "org.freedesktop.Secret.Item.Attributes": ("a{ss}", attributes)}
        secrets(collection, "org.freedesktop.Secret.Collection", "CreateItem", "a{sv}(oayays)b", properties, (session, b"", secret, kind), False)

    tool("Mail of Ada", b"s3cret", "service", "mail", "username", "ada")
    tool("Forge", b"of the forge", "xdg:schema", "org.gnome.keyring.NetworkPassword", "protocol", "https", "server", "git.example", "port", "8443",
         "object", "repo.git", "user", "ada", "domain", "EXAMPLE")
    tool("Schlüssel für Ada 🔑", "pässwörd".encode(), "anwendung", "Übersicht", "folder", "given")
    tool("Volatile", b"gone at the end", "service", "session", collection="session")
    mine = session()
    create(mine, ROOT + "/collection/login", "Binary", {"application": "binary", "vault.import": "a name of ours"}, bytes(range(256)) * 5, "application/octet-stream")
    create(mine, ROOT + "/collection/login", "", {}, b"")
    for number in range(2):
        create(mine, ROOT + "/collection/login", "Twin", {"service": "twin"}, b"twin %d" % number)
    work = secrets(
        ROOT, "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface", "CreateWithMasterPassword", "a{sv}(oayays)",
        {"org.freedesktop.Secret.Collection.Label": ("s", "Work")}, (mine, b"", b"of work", "text/plain"))[0]
    create(mine, work, "Badge", {"service": "badge", "username": "ada"}, b"of work")

    def lock():
        secrets(ROOT, "org.freedesktop.Secret.Service", "Lock", "ao", [work])
        return "done"

    def restart():
        keyring.terminate()
        keyring.wait()
        start_keyring()
        # Unlocked, as it was.
        mine = session()
        secrets(ROOT, "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface", "UnlockWithMasterPassword", "o(oayays)", work, (mine, b"", b"of work", "text/plain"))
        return "done"

    def fill(count):
        mine = session()
        for number in range(int(count)):
            create(mine, ROOT + "/collection/login", f"Item {number}", {"service": f"service {number}", "username": "ada"}, b"secret %d" % number)
        return "done"

    commands({"lock": lock, "restart": restart, "fill": fill, "pid": lambda: str(keyring.pid)})


# --- a provider with a single fault

def encrypt(key, vector, text, pads=True):
    library = ctypes.CDLL("libcrypto.so.3")
    for function in ("EVP_CIPHER_CTX_new", "EVP_aes_128_cbc"):
        getattr(library, function).restype = ctypes.c_void_p
    context, cipher = ctypes.c_void_p(library.EVP_CIPHER_CTX_new()), ctypes.c_void_p(library.EVP_aes_128_cbc())
    library.EVP_EncryptInit_ex(context, cipher, None, key, vector)
    library.EVP_CIPHER_CTX_set_padding(context, 1 if pads else 0)
    output, length, last = ctypes.create_string_buffer(len(text) + 32), ctypes.c_int(), ctypes.c_int()
    library.EVP_EncryptUpdate(context, output, ctypes.byref(length), text, len(text))
    library.EVP_EncryptFinal_ex(context, ctypes.byref(output, length.value), ctypes.byref(last))
    library.EVP_CIPHER_CTX_free(context)
    return output.raw[: length.value + last.value]


MARKER = os.urandom(16).hex().encode()


def seen(process):
    count = 0
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for line in maps:
            bounds, rights = line.split()[:2]
            start, end = (int(bound, 16) for bound in bounds.split("-"))
            # Mappings without read access, and pages that the kernel does not show, are skipped.
            while rights.startswith("r") and start < end:
                try:
                    memory.seek(start)
                    part = memory.read(min(end - start, 1 << 24))
                except (OSError, OverflowError):
                    break
                count += part.count(MARKER)
                start += len(part) or end
    return str(count)


class Failure(Exception):
    pass


class Silence(Exception):
    pass


class Provider:
    """Collection `login` has items `i0` to `i9` or so; the secret of each is its own name, unless the scenario changes it."""

    def __init__(self, scenario):
        self.scenario, self.asked, self.key, self.session = scenario, [], None, ROOT + "/session/s1"
        self.count = {"many": 3000, "huge": 250001}.get(scenario, 10)
        if scenario.isdigit():
            self.count = int(scenario)
        self.login, self.other = ROOT + "/collection/login", ROOT + "/collection/other"
        self.is_locked, self.is_gone = True, False
        self.bus = Bus()
        assert self.bus.ask("RequestName", "su", "org.freedesktop.secrets", 4)[0] == 1

    def service(self):
        collections = [self.login]
        if self.scenario.startswith("prompt"):
            collections = [self.other, self.login, ROOT + "/collection/third"]
        if self.scenario == "paths":
            collections = ["/elsewhere", ROOT, self.login, self.login]
        if self.scenario == "collections":
            collections = [f"{self.login}{number}" for number in range(1025)]
        if self.scenario == "collections-type":
            return {"Collections": ("as", collections)}
        return {"Collections": ("ao", collections), "Unknown": ("a{s(tav)}", {"x": (1, [("u", 2)])})}

    def collection(self, path):
        items = [f"{path}/i{number}" for number in range(self.count)]
        locked = self.scenario.startswith("prompt") and path != self.login and self.is_locked
        if path == ROOT + "/collection/third":
            locked = self.scenario.startswith("prompt")
        if self.scenario == "paths":
            items = ["/elsewhere/i0", "/org/freedesktop/secretsx/i1", path + "/i0", path + "/i0"]
        if self.scenario == "collection-type":
            return {"Items": ("s", "none"), "Label": ("s", ""), "Locked": ("b", 0)}
        return {"Items": ("ao", [] if locked else items), "Label": ("s", "Other" if path == self.other else "Login"), "Locked": ("b", int(locked))}

    def item(self, path):
        name = path.rsplit("/", 1)[1]
        attributes = {"service": "service of " + name, "username": "ada"}
        label, locked = "Item " + name, int(self.scenario == "locked" and name == "i3")
        if self.scenario == "properties":
            if name == "i0":
                return {"Label": ("u", 1), "Attributes": ("a{ss}", {}), "Locked": ("b", 0)}
            if name == "i1":
                return {"Label": ("s", ""), "Attributes": ("a{sv}", {"x": ("s", "y")})}
            if name == "i2":
                raise Failure("org.freedesktop.DBus.Error.UnknownMethod")
            if name == "i3":
                attributes = {f"name {number}": "x" for number in range(4000)}
            if name == "i4":
                label = "x" * 100000
            if name == "i5":
                attributes["note"] = "x" * 2000000
            if name == "i6":
                return {}
            if name == "i7":
                attributes = {"": "empty", "n" * 255: "long", "m" * 256: "longer", "a\tb": "tabulator", "vault.key": "x", "value": "v" * 10000}
            if name == "i8":
                attributes = {"xdg:schema": "org.gnome.keyring.NetworkPassword", "server": "s", "port": "99999", "protocol": "", "object": "/p"}
            if name == "i9":
                attributes = {"xdg:schema": "org.gnome.keyring.NetworkPassword", "user": "nobody", "domain": "d"}
        return {"Label": ("s", label), "Attributes": ("a{ss}", attributes), "Locked": ("b", locked), "Created": ("t", 1)}

    def secret(self, path):
        name, vector = path.rsplit("/", 1)[1], os.urandom(16)
        text, kind, session = name.encode(), "text/plain", self.session
        if self.scenario == "locked" and name in ("i3", "i4"):
            raise Failure("org.freedesktop.Secret.Error.IsLocked")
        if self.scenario == "secrets":
            if name == "i0":
                vector = vector[:15]
            if name == "i1":
                return session, vector, encrypt(self.key, vector, b"no padding here.", False), kind
            if name == "i2":
                return session, vector, b"", kind
            if name == "i3":
                session = ROOT + "/session/s2"
            if name == "i4":
                text = b"x" * ((16 << 20) + 1)
            if name == "i5":
                kind = "x" * 300
            if name == "i6":
                kind = "text/html; charset=utf-8"
            if name == "i7":
                return session, vector, encrypt(self.key, vector, text)[:-1], kind
            if name == "i8":
                vector += b"\0"
            if name == "i9":
                text = b"y" * (16 << 20)
        if self.scenario == "marked":
            text = MARKER
        if self.key:
            text = encrypt(self.key, (vector + bytes(16))[:16], text)
        return session, vector if self.key else b"", text, kind

    def answers(self, fields, values):
        """Returns the signature and the values of the answer."""
        path, member = fields[1], fields[3]
        if member == "OpenSession":
            if values[0] == "plain":
                return "vo", ("s", ""), self.session
            if self.scenario in ("plain", "marked"):
                raise Failure("org.freedesktop.DBus.Error.NotSupported")
            private = 1 + int.from_bytes(os.urandom(127), "big")
            public = pow(2, private, PRIME).to_bytes(128, "big")
            shared = pow(int.from_bytes(values[1], "big"), private, PRIME).to_bytes(128, "big")
            self.key = hmac.new(hmac.new(bytes(32), shared, hashlib.sha256).digest(), b"\1", hashlib.sha256).digest()[:16]
            public = {"y=": b"", "y=0": bytes(128), "y=1": bytes(127) + b"\1", "y=p-1": (PRIME - 1).to_bytes(128, "big"), "y=129": b"\0" + public}.get(self.scenario, public)
            if self.scenario == "y-type":
                return "vo", ("s", "a key"), self.session
            return "vo", ("ay", public), "/elsewhere" if self.scenario == "session-path" else self.session
        if member == "ReadAlias":
            return "o", self.login if values[0] == "default" else "/"
        if member == "GetAll":
            interface = values[0].rsplit(".", 1)[1]
            if self.scenario == "silence" and interface == "Item":
                raise Silence
            if self.scenario == "no-dictionary":
                return "s", "nothing"
            return "a{sv}", self.service() if interface == "Service" else self.collection(path) if interface == "Collection" else self.item(path)
        if member == "Unlock":
            if self.scenario == "prompt-refused":
                raise Failure("org.freedesktop.DBus.Error.AccessDenied")
            if self.scenario == "prompt-none" or self.scenario == "locked":
                return "aoo", [], "/"
            return "aoo", [], "/elsewhere" if self.scenario == "prompt-path" else ROOT + "/prompt/p1"
        if member == "Prompt":
            return "",
        if member in ("Dismiss", "Close"):
            return "",
        if member == "GetSecrets":
            if self.scenario == "bus-gone":
                daemon.kill()
                daemon.wait()
                raise Silence
            if self.scenario == "secrets-type":
                return "a{s(oayays)}", {path: self.secret(path) for path in values[0]}
            if self.scenario == "one-by-one":
                raise Failure("org.freedesktop.DBus.Error.LimitsExceeded")
            if self.scenario == "other-items":
                return "a{o(oayays)}", {path + "x": self.secret(path) for path in values[0]}
            found = {}
            for path in values[0]:
                try:
                    found[path] = self.secret(path)
                except Failure:
                    pass
            return "a{o(oayays)}", found
        if member == "GetSecret":
            if self.scenario in ("secrets-type", "other-items"):
                raise Failure("org.freedesktop.Secret.Error.NoSuchObject")
            return "(oayays)", self.secret(path)
        raise Failure("org.freedesktop.DBus.Error.UnknownMethod")

    def after(self, fields):
        """Acts after the answer, as the scenario demands."""
        if fields[3] != "Prompt" or not self.scenario.startswith("prompt"):
            return
        if self.scenario == "prompt-gone":
            self.is_gone = True
            self.bus.socket.close()
            return
        completed = [(1, ("o", ROOT + "/prompt/p1")), (2, ("s", "org.freedesktop.Secret.Prompt")), (3, ("s", "Completed"))]
        if self.scenario == "prompt-forged":
            # Another process broadcasts the signal, and also sends it to the client directly.
            self.is_locked = False
            other = Bus()
            other.send(4, completed, "bv", False, ("ao", []))
            other.send(4, completed + [(6, ("s", fields[7]))], "bv", False, ("ao", []))
            other.ask("GetId")
        elif self.scenario == "prompt-type":
            self.bus.send(4, completed, "s", "yes")
        elif self.scenario in ("prompt-dismissed", "prompt-completed"):
            self.is_locked = self.scenario == "prompt-dismissed"
            self.bus.send(4, [(1, ("o", ROOT + "/prompt/p2"))] + completed[1:], "bv", True, ("ao", []))
            self.bus.send(4, completed, "bv", self.is_locked, ("ao", [ROOT + "/made/up"]))

    def handle(self):
        while not self.is_gone and (self.bus.pending or select.select([self.bus.socket], [], [], 0)[0]):
            kind, serial, fields, values = self.bus.receive()
            if kind != 1:
                continue
            self.asked.append(fields[3])
            header = [(5, ("u", serial)), (6, ("s", fields[7]))]
            try:
                self.bus.send(2, header, *self.answers(fields, values))
            except Failure as failure:
                self.bus.send(3, header + [(4, ("s", str(failure)))], "s", "no")
            except Silence:
                pass
            self.after(fields)


if kind == "nothing":
    commands()
elif kind == "keyring":
    run_keyring()
else:
    provider = Provider(sys.argv[3])
    commands({"asked": lambda: " ".join(provider.asked), "pid": lambda: str(os.getpid()), "seen": seen}, provider)
