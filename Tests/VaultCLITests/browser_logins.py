# SPDX-License-Identifier: Apache-2.0
"""Fills, saves and changes logins with the extension, on a page that this process serves.

    browser_logins.py EXTENSION PROFILE

EXTENSION is the extension's directory, PROFILE an empty one.
"""
import base64, http.server, sys, threading

from firefox import Firefox, fail, wait

PORT = 8642
FORM = b"""<!DOCTYPE html><meta charset=utf-8><title>Login</title><form method=post action=/in>
<input type=text name=user id=user autocomplete=username><input type=password name=pass id=pass>
<button type=submit>Log in</button></form>"""
BANK = "bank.localhost"
# Up to its 4,096th byte, this URL has the bank as its host.
LONG_USER = f"http://{'a' * (4096 - len('http://@' + BANK))}@{BANK}.evil.localhost:{PORT}/basic"
# The passwords that each host got by HTTP's own authentication.
got = {}


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/basic":
            given = base64.b64decode(self.headers.get("Authorization", "Basic Og==").split()[1]).decode()
            got.setdefault(self.headers["Host"].split(":")[0], []).append(given.split(":", 1)[1])
            self.send_response(200 if given == "ada:of the bank" else 401)
            self.send_header("WWW-Authenticate", 'Basic realm="bank"')
        else:
            self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(FORM if self.path != "/frame" else f"<iframe hidden src='{LONG_USER}'></iframe>".encode())

    def log_message(self, *_):
        pass


site = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Site)
threading.Thread(target=site.serve_forever, daemon=True).start()
with Firefox(*sys.argv[1:]) as firefox:
    ask = firefox.ask
    print("extension:", firefox.version)
    print("associate:", ask("associate").get("found"))
    firefox.set(autoFillSingleEntry=True)
    print("hash:", len(ask("get_database_hash").get("found") or ""))
    print("generate:", len((ask("generate_password").get("found") or "")))
    print("groups:", ask("get_database_groups").get("found"))
    url = f"http://localhost:{PORT}/"
    firefox.open_tab()
    firefox.go(url)
    filled = wait("the login", lambda: (
        lambda values: values if all(values) else None)(firefox.page(
            "return ['user', 'pass'].map(id => document.getElementById(id).value)")))
    print("filled:", filled)
    if filled != ["ada", "pässwörd"]:
        fail("the wrong login")
    print("save:", ask("add_credentials", "grace", "new", url, "", "").get("found"))
    found = ask("retrieve_credentials", url, url).get("found") or []
    print("logins:", [entry["login"] for entry in found])
    grace = next(entry for entry in found if entry["login"] == "grace")
    print("update:", ask("update_credentials", grace["uuid"], "grace", "newer", url, "", "").get("found"))
    # HTTP's own authentication, which the extension answers without a click, also in a hidden frame.
    firefox.set(autoFillAndSend=True)
    ask("init_http_auth")
    firefox.go(f"http://{BANK}:{PORT}/basic")
    print("to the bank:", got[BANK])
    if got[BANK][-1] != "of the bank":
        fail("the bank's page got no login")
    for name, open_page in [
        ("frame", lambda: firefox.go(f"http://evil.localhost:{PORT}/frame")),
        ("page", lambda: firefox.page("location.href = arguments[0]", LONG_USER)),
    ]:
        got.clear()
        open_page()
        # Firefox asks the person as soon as the extension has no login.
        wait("Firefox's question", lambda: firefox.has_dialog() or "of the bank" in sum(got.values(), []))
        print(f"to the {name} of a long user:", got)
        if "of the bank" in sum(got.values(), []):
            fail("the page of another host got the bank's login")
        firefox.call("WebDriver:DismissAlert")
    print("lock:", ask("lock_database")["found"]["error"])
    print("locked:", repr(ask("get_database_hash").get("found")))
    print("unlocked:", len(ask("get_database_hash", False, True).get("found") or ""))
