# SPDX-License-Identifier: Apache-2.0
"""Headless Firefox with the browser's extension, driven over Firefox's Marionette protocol (JSON over TCP)."""
import json, os, socket, subprocess, sys, time

EXTENSION = "keepassxc-browser@keepassxc.org"
# Debian's package of the extension is there for every profile.
DEBIAN = "/usr/share/mozilla/extensions/{ec8030f7-c20a-464f-9b0e-13a3a9e97384}/" + EXTENSION
# Profile and application: without the scopes of the user and the machine, Firefox leaves Debian's extension out.
OWN_SCOPES = 5


def fail(text):
    sys.exit(f"browser-trial: {text}")


def wait(what, look):
    for _ in range(300):
        found = look()
        if found:
            return found
        time.sleep(0.1)
    fail(f"{what} did not come")


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
            fail("Firefox has gone")
        return part

    def exchange(self, name, parameters):
        self.number += 1
        text = json.dumps([0, self.number, name, parameters])
        self.socket.sendall(f"{len(text.encode())}:{text}".encode())
        return self.read()

    def call(self, name, parameters={}):
        _, _, error, result = self.exchange(name, parameters)
        if error:
            fail(f"{name}: {error['error']}: {error['message']}")
        return result.get("value") if isinstance(result, dict) and "value" in result else result

    def chrome(self, script, *arguments):
        self.call("Marionette:SetContext", {"value": "chrome"})
        return self.call("WebDriver:ExecuteAsyncScript", {"script": script, "args": list(arguments)})

    def page(self, script, *arguments, sandbox="default"):
        """Runs a script in the page. The sandbox `system` sees closed shadow roots."""
        self.call("Marionette:SetContext", {"value": "content"})
        return self.call(
            "WebDriver:ExecuteScript", {"script": script, "args": list(arguments), "sandbox": sandbox})


class Firefox:
    """A browser with the extension of a directory, and a tab with the extension's own page."""

    def __init__(self, extension, profile, preferences={}):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        isPackaged = os.path.exists(DEBIAN) and os.path.realpath(DEBIAN) == os.path.realpath(extension)
        values = {
            "marionette.port": port, "extensions.autoDisableScopes": 0, "extensions.startupScanScopes": 15,
            "xpinstall.signatures.required": False, "browser.shell.checkDefaultBrowser": False,
            "datareporting.policy.dataSubmissionEnabled": False, "browser.aboutwelcome.enabled": False,
            "extensions.webextensions.remote": True, "signon.rememberSignons": False, **preferences,
        }
        if not isPackaged:
            values["extensions.enabledScopes"] = OWN_SCOPES
        with open(profile + "/user.js", "w") as file:
            for name, value in values.items():
                file.write(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n")
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--no-remote", "--profile", profile, "--marionette",
             "--remote-allow-system-access"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(profile + "/firefox.log", "w"))
        try:
            self.driver = Marionette(port)
            self.call, self.page = self.driver.call, self.driver.page
            self.call("WebDriver:SetTimeouts", {"script": 60000, "pageLoad": 60000})
            if not isPackaged:
                self.call("Addon:Install", {"path": extension, "temporary": True})
            self.open_extension()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.terminate()
        self.process.wait()

    def open_extension(self):
        found = wait("the extension", lambda: self.driver.chrome(
            "const done = arguments[arguments.length - 1];"
            "const policy = WebExtensionPolicy.getByID(arguments[0]);"
            "done(policy && { host: policy.mozExtensionHostname, version: policy.extension.version })", EXTENSION))
        self.version = found["version"]
        # WebDriver's navigation to an extension's page never returns.
        self.driver.chrome("""
            const done = arguments[arguments.length - 1];
            const tab = gBrowser.addTab(arguments[0], {
                triggeringPrincipal: Services.scriptSecurityManager.getSystemPrincipal() });
            gBrowser.selectedTab = tab;
            done(true)""", f"moz-extension://{found['host']}/options/options.html")
        wait("the host", self.is_ready)

    def is_ready(self):
        """Whether the extension has exchanged keys with the host: it is connected before that."""
        if not self.ask("is_connected").get("found"):
            self.ask("reconnect")
        return self.ask("get_database_hash").get("found")

    def ask(self, action, *arguments, whole=None):
        """Sends a message to the extension as its own pages do, as soon as it listens."""
        def look():
            found = self.ask_once(action, whole or list(arguments))
            return None if found and "Receiving end does not exist" in found.get("error", "") else found

        found = wait("the extension's page", look)
        if "error" in found and action != "reconnect":
            fail(f"{action}: {found['error']}")
        return found

    def ask_once(self, action, arguments):
        self.driver.call("Marionette:SetContext", {"value": "content"})
        # A tab's handle changes with the tab's process.
        for handle in self.call("WebDriver:GetWindowHandles"):
            self.call("WebDriver:SwitchToWindow", {"handle": handle})
            if (self.page("return location.href") or "").startswith("moz-extension:"):
                break
        else:
            return None
        return self.call("WebDriver:ExecuteAsyncScript", {"script": """
            const done = arguments[arguments.length - 1];
            if (typeof browser === "undefined") { done(null); return; }
            browser.runtime.sendMessage({ action: arguments[0], args: arguments[1] })
                .then(found => done({ found: found === undefined ? null : found }), e => done({ error: String(e) }))
            """, "args": [action, arguments]})

    def set(self, **options):
        """Changes the extension's options. Pages learn of a change when they load."""
        settings = self.ask("load_settings")["found"]
        settings.update(options)
        self.ask("save_settings", whole=settings)

    def open_tab(self):
        self.tab = self.call("WebDriver:NewWindow", {"type": "tab", "focus": True})["handle"]
        self.show_tab()

    def show_tab(self):
        self.call("WebDriver:SwitchToWindow", {"handle": self.tab})
        self.call("Marionette:SetContext", {"value": "content"})

    def has_dialog(self):
        """Whether a question of Firefox's own is open in the tab."""
        _, _, error, _ = self.driver.exchange("WebDriver:GetAlertText", {})
        return error is None

    def go(self, url):
        self.show_tab()
        self.call("WebDriver:Navigate", {"url": url})
