# Drives Firefox over its Marionette protocol (JSON over TCP), with an extension from a directory, on a page that this
# process serves.
# Arguments: the extension's directory, the directory of an empty profile.
import http.server, json, os, socket, subprocess, sys, threading, time

extension, profile = sys.argv[1:]
EXTENSION = "keepassxc-browser@keepassxc.org"
PORT = 8642
FORM = b"""<!DOCTYPE html><meta charset=utf-8><title>Login</title><form method=post action=/in>
<input type=text name=user id=user autocomplete=username><input type=password name=pass id=pass>
<button type=submit>Log in</button></form>"""


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(FORM)

    def log_message(self, *_):
        pass


class Marionette:
    def __init__(self, port):
        for _ in range(600):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                time.sleep(0.1)
        self.buffer, self.number = b"", 0
        self.read()
        self.call("WebDriver:NewSession", {"strictFileInteractability": False})

    def read(self):
        while b":" not in self.buffer:
            self.buffer += self.more()
        length, self.buffer = self.buffer.split(b":", 1)
        while len(self.buffer) < int(length):
            self.buffer += self.more()
        message, self.buffer = self.buffer[: int(length)], self.buffer[int(length) :]
        return json.loads(message)

    def more(self):
        part = self.socket.recv(1 << 16)
        if not part:
            sys.exit("browser-trial: Firefox has gone")
        return part

    def call(self, name, parameters={}):
        self.number += 1
        text = json.dumps([0, self.number, name, parameters])
        self.socket.sendall(f"{len(text.encode())}:{text}".encode())
        _, _, error, result = self.read()
        if error:
            sys.exit(f"browser-trial: {name}: {error['error']}: {error['message']}")
        return result.get("value") if isinstance(result, dict) and "value" in result else result

    def chrome(self, script, *arguments):
        self.call("Marionette:SetContext", {"value": "chrome"})
        return self.call("WebDriver:ExecuteAsyncScript", {"script": script, "args": list(arguments)})

    def page(self, script):
        self.call("Marionette:SetContext", {"value": "content"})
        return self.call("WebDriver:ExecuteScript", {"script": script, "args": []})


def wait(what, look):
    for _ in range(300):
        found = look()
        if found:
            return found
        time.sleep(0.1)
    sys.exit(f"browser-trial: {what} did not come")


site = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Site)
threading.Thread(target=site.serve_forever, daemon=True).start()
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    marionette = free.getsockname()[1]
with open(profile + "/user.js", "w") as preferences:
    for name, value in {
        "marionette.port": marionette, "extensions.autoDisableScopes": 0, "extensions.startupScanScopes": 15,
        "xpinstall.signatures.required": False, "browser.shell.checkDefaultBrowser": False,
        "datareporting.policy.dataSubmissionEnabled": False, "browser.aboutwelcome.enabled": False,
        "extensions.webextensions.remote": True, "signon.rememberSignons": False,
    }.items():
        preferences.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
firefox = subprocess.Popen(
    ["firefox-esr", "--headless", "--no-remote", "--profile", profile, "--marionette",
     "--remote-allow-system-access"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    stderr=open(os.environ["HOME"] + "/firefox.log", "w"))
try:
    driver = Marionette(marionette)
    driver.call("WebDriver:SetTimeouts", {"script": 60000, "pageLoad": 60000})
    if not os.path.exists("/usr/share/mozilla/extensions/{ec8030f7-c20a-464f-9b0e-13a3a9e97384}/" + EXTENSION):
        driver.call("Addon:Install", {"path": extension, "temporary": True})
    host = wait("the extension", lambda: driver.chrome(
        "const done = arguments[arguments.length - 1];"
        "const policy = WebExtensionPolicy.getByID(arguments[0]); done(policy && policy.mozExtensionHostname)",
        EXTENSION))
    # WebDriver's navigation to an extension's page never returns.
    driver.chrome("""
        const done = arguments[arguments.length - 1];
        const tab = gBrowser.addTab(arguments[0], {
            triggeringPrincipal: Services.scriptSecurityManager.getSystemPrincipal() });
        gBrowser.selectedTab = tab;
        done(true)""", f"moz-extension://{host}/options/options.html")

    def ask(action, *arguments, whole=None):
        found = wait("the extension's page", lambda: once(action, whole or list(arguments)))
        if "error" in found and action != "reconnect":
            sys.exit(f"browser-trial: {action}: {found['error']}")
        return found

    def once(action, arguments):
        # A tab's handle changes with the tab's process.
        for handle in driver.call("WebDriver:GetWindowHandles"):
            driver.call("WebDriver:SwitchToWindow", {"handle": handle})
            if (driver.page("return location.href") or "").startswith("moz-extension:"):
                break
        else:
            return None
        return driver.call("WebDriver:ExecuteAsyncScript", {"script": """
            const done = arguments[arguments.length - 1];
            if (typeof browser === "undefined") { done(null); return; }
            browser.runtime.sendMessage({ action: arguments[0], args: arguments[1] })
                .then(found => done({ found: found === undefined ? null : found }), e => done({ error: String(e) }))
            """, "args": [action, arguments]})

    wait("the host", lambda: ask("is_connected").get("found") or (ask("reconnect") and False))
    print("associate:", ask("associate").get("found"))
    settings = ask("load_settings")["found"]
    settings["autoFillSingleEntry"] = True
    ask("save_settings", whole=settings)
    print("hash:", len(ask("get_database_hash").get("found") or ""))
    print("generate:", len((ask("generate_password").get("found") or "")))
    print("groups:", ask("get_database_groups").get("found"))
    url = f"http://localhost:{PORT}/"
    page = driver.call("WebDriver:NewWindow", {"type": "tab", "focus": True})["handle"]
    driver.call("WebDriver:SwitchToWindow", {"handle": page})
    driver.call("Marionette:SetContext", {"value": "content"})
    driver.call("WebDriver:Navigate", {"url": url})
    filled = wait("the login", lambda: (
        lambda values: values if all(values) else None)(driver.page(
            "return ['user', 'pass'].map(id => document.getElementById(id).value)")))
    print("filled:", filled)
    if filled != ["ada", "pässwörd"]:
        sys.exit("browser-trial: the wrong login")
    print("save:", ask("add_credentials", "grace", "new", url, "", "").get("found"))
    found = ask("retrieve_credentials", url, url).get("found") or []
    print("logins:", [entry["login"] for entry in found])
    grace = next(entry for entry in found if entry["login"] == "grace")
    print("update:", ask("update_credentials", grace["uuid"], "grace", "newer", url, "", "").get("found"))
    print("lock:", ask("lock_database")["found"]["error"])
    print("locked:", repr(ask("get_database_hash").get("found")))
    print("unlocked:", len(ask("get_database_hash", False, True).get("found") or ""))
finally:
    firefox.terminate()
    firefox.wait()
