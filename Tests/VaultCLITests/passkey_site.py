# SPDX-License-Identifier: Apache-2.0
"""A site with passkeys: its page, and python-fido2 as the relying party that verifies every ceremony."""
import http.server, json, os, threading, urllib.parse

from fido2.client import ClientData
from fido2.ctap2 import AttestationObject, AttestedCredentialData, AuthenticatorData
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import PublicKeyCredentialRpEntity

ALGORITHMS = {-7: "ES256", -8: "EdDSA"}
USER_VERIFIED, BACKUP_ELIGIBLE, BACKED_UP = 4, 8, 16

PAGE = """<!DOCTYPE html><meta charset=utf-8><title>Passkeys</title>
<style>body { font: 16px sans-serif; margin: 2em } #outcome { font-weight: bold }</style>
<h1>A site with passkeys</h1><p id=place></p>
<p><button id=register>Register</button> <button id=sign-in>Sign in</button></p>
<p id=outcome></p><input type=hidden id=wishes value={}>
<script>
const by = id => document.getElementById(id);
const text = value => typeof value === "string" ? value : btoa(String.fromCharCode(...new Uint8Array(value)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const post = async (path, value) => (await fetch(path, { method: "POST", body: JSON.stringify(value) })).json();

// Speaks to the extension as its own script in the page does, and claims to be no frame.
const liar = {
    get: ({ publicKey }) => new Promise(resolve => {
        document.addEventListener("kpxc-passkeys-response", event => resolve(event.detail.publicKey), { once: true });
        const detail = { action: "passkeys_get", publicKey, sameOriginWithAncestors: true };
        document.dispatchEvent(new CustomEvent("kpxc-passkeys-request", { detail }));
    }),
};

async function ceremony(kind) {
    const wishes = JSON.parse(by("wishes").value);
    const json = await post("/begin", { kind, ...wishes });
    const credentials = wishes.lies ? liar : navigator.credentials;
    const made = kind === "register"
        ? await credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(json) })
        : await credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(json) });
    if (!made) return "no credential";
    const answer = { id: made.id, rawId: text(made.rawId ?? made.id), response: {} };
    answer.attachment = made.authenticatorAttachment;
    for (const name of ["attestationObject", "authenticatorData", "clientDataJSON", "signature", "userHandle"]) {
        if (made.response[name]) answer.response[name] = text(made.response[name]);
    }
    if (kind === "register") answer.response.authenticatorData = text(made.response.getAuthenticatorData());
    const said = (await post("/complete", answer)).outcome;
    const extensions = JSON.stringify(made.getClientExtensionResults?.() ?? {});
    return extensions === "{}" ? said : said + ", " + extensions;
}

for (const kind of ["register", "sign-in"]) {
    by(kind).addEventListener("click", async () => {
        by("outcome").textContent = "waiting";
        try { by("outcome").textContent = await ceremony(kind); } catch (error) {
            by("outcome").textContent = error.name + ": " + error.message;
        }
    });
}
by("place").textContent = location.origin;
</script>"""

FRAME = """<!DOCTYPE html><meta charset=utf-8><title>A frame</title><p>A page of another site</p>
<iframe width=600 height=300 allow="publickey-credentials-create *; publickey-credentials-get *" src="{}"></iframe>"""


class Site(http.server.ThreadingHTTPServer):
    """Every host name is a relying party of its own. One ceremony runs at a time."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.users, self.state = {}, None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, host="localhost", path="/"):
        return f"http://{host}:{self.server_port}{path}"

    def framed(self, outer, inner):
        return self.url(outer, "/framed?" + urllib.parse.quote(inner))

    def known(self, party):
        """The passkeys of a relying party: their users and their public keys."""
        return self.users.setdefault(party, [])

    def begin(self, origin, wishes):
        host = urllib.parse.urlsplit(origin).hostname
        party, challenge = wishes.get("party", host), websafe_encode(os.urandom(wishes.get("length", 32)))
        verification = wishes.get("verification", "preferred")
        self.state = {
            "origin": origin, "party": party, "user": wishes.get("user", "ada"),
            "state": {"challenge": challenge, "user_verification": verification},
        }
        listed = [{"type": "public-key", "id": id} for id in wishes.get("listed", [])]
        options = {"challenge": challenge, "timeout": 60000, "extensions": wishes.get("extensions", {})}
        if wishes["kind"] == "sign-in":
            return {**options, "rpId": party, "userVerification": verification, "allowCredentials": listed}
        selection = {"userVerification": verification, "residentKey": "required"}
        if "attachment" in wishes:
            selection["authenticatorAttachment"] = wishes["attachment"]
        user = self.state["user"]
        return {
            **options, "rp": {"id": party, "name": "A site with passkeys"},
            "attestation": wishes.get("attestation", "none"),
            "user": {"id": websafe_encode(user.encode()), "name": user, "displayName": user.title()},
            "pubKeyCredParams": [{"type": "public-key", "alg": one} for one in wishes.get("algorithms", [-7, -257])],
            "authenticatorSelection": selection, "excludeCredentials": listed,
        }

    def complete(self, answer):
        state, self.state = self.state, None
        party, user = state["party"], state["user"]
        server = Fido2Server(
            PublicKeyCredentialRpEntity(party, "site"), verify_origin=lambda origin: origin == state["origin"])
        response = {name: websafe_decode(value) for name, value in answer["response"].items()}
        client = ClientData(response["clientDataJSON"])
        assert answer["id"] == answer["rawId"]
        if "attestationObject" in response:
            data = server.register_complete(state["state"], client, AttestationObject(response["attestationObject"]))
            assert response["authenticatorData"] == bytes(data)
            assert websafe_decode(answer["id"]) == data.credential_data.credential_id
            credential = AttestedCredentialData(bytes(data.credential_data))
            self.known(party).append((user, credential))
            said = f"registered {user} with {ALGORITHMS[credential.public_key.ALGORITHM]}"
        else:
            data = AuthenticatorData(response["authenticatorData"])
            used = server.authenticate_complete(
                state["state"], [credential for _, credential in self.known(party)], websafe_decode(answer["id"]),
                client, data, response["signature"])
            user = next(user for user, credential in self.known(party) if credential == used)
            assert response["userHandle"] == user.encode()
            said = f"signed in {user}"
        if answer["attachment"] != "platform":
            said += " by a security key"
        flags = {USER_VERIFIED: "verified", BACKUP_ELIGIBLE: "may be backed up", BACKED_UP: "backed up"}
        return ", ".join([said] + [name for flag, name in flags.items() if data.flags & flag])


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self):
        path, _, inner = self.path.partition("?")
        self.answer("text/html", FRAME.format(urllib.parse.unquote(inner)) if path == "/framed" else PAGE)

    def do_POST(self):
        value = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/begin":
            found = self.server.begin(self.headers["Origin"], value)
        else:
            try:
                found = {"outcome": self.server.complete(value)}
            except (AssertionError, KeyError, ValueError) as error:
                found = {"outcome": f"refused by the site: {error!r}"}
        self.answer("application/json", json.dumps(found))

    def log_message(self, *_):
        pass
