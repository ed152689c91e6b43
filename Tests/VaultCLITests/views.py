# Prints what other programs see of the vault: for each view a line of JSON with its rows, each of title, user and URLs.
import csv, io, json, os, subprocess


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=True, **more).stdout


def exported(kind, *options):
    words = ["vault", "export", kind, "exported." + kind, "--yes", "--passphrase-file", "pass", *options]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode in (0, 6), done
    return "exported." + kind


def bitwarden():
    for item in json.load(open(exported("bitwarden")))["items"]:
        login = item.get("login") or {}
        yield item["name"], login.get("username") or "", [uri["uri"] for uri in login.get("uris") or []]


def cxf():
    for item in json.load(open(exported("cxf")))["accounts"][0]["items"]:
        names = [each["username"] for each in item["credentials"] if each.get("username")]
        users = [name["value"] if isinstance(name, dict) else name for name in names]
        yield item["title"], (users + [""])[0], (item.get("scope") or {}).get("urls") or []


def table(text):
    for row in csv.DictReader(io.StringIO(text, newline="")):
        yield row["Title"], row["Username"], [row["URL"]] if row["URL"] else []


def keepass():
    name = exported("kdbx", "--file-passphrase-file", "other")
    return table(run("keepassxc-cli", "export", "-q", "-f", "csv", name, input=open("other").read()))


def bus(*words):
    address = "--address=" + os.environ["DBUS_SESSION_BUS_ADDRESS"]
    return json.loads(run("busctl", address, "--json=short", *words))["data"]


def programs():
    service, root, item = "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret.Item"
    for path in bus("call", service, root, "org.freedesktop.Secret.Service", "SearchItems", "a{ss}", "0")[0]:
        values = bus("get-property", service, path, item, "Attributes")
        user = values.get("username") or values.get("user") or ""
        place = values.get("server") or values.get("service")
        yield bus("get-property", service, path, item, "Label"), user, [place] if place else []


def git():
    answer = run("vault", "git-credential", "get", input="protocol=https\nhost=git.example\n\n")
    yield "", dict(line.split("=", 1) for line in answer.splitlines() if line)["username"], ["https://git.example"]


def docker():
    for server, user in json.loads(run("vault", "docker-credential", "list")).items():
        yield "", user, [server]


views = {
    "csv": lambda: table(open(exported("csv"), newline="").read()), "bitwarden": bitwarden, "cxf": cxf,
    "kdbx": keepass, "bus": programs, "git": git, "docker": docker,
}
for name, rows in views.items():
    print(json.dumps([name, list(rows())]))
