# SPDX-License-Identifier: Apache-2.0
"""Fills, saves and changes logins with the extension, on a page that this process serves.

    browser_logins.py EXTENSION PROFILE

EXTENSION is the extension's directory, PROFILE an empty one.
"""
import http.server, sys, threading

from firefox import Firefox, fail, wait

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
    print("lock:", ask("lock_database")["found"]["error"])
    print("locked:", repr(ask("get_database_hash").get("found")))
    print("unlocked:", len(ask("get_database_hash", False, True).get("found") or ""))
