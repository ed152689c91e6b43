# SPDX-License-Identifier: Apache-2.0
"""Makes and uses passkeys with the extension, at a site that this process serves. Each case prints a line: what the
page sees, what the person is asked, and what the extension shows. A case that ends in another way ends the trial.

    browser_passkeys.py EXTENSION PROFILE PASSPHRASE [PICTURES]

EXTENSION is the extension's directory, PROFILE an empty one, PASSPHRASE a file with the vault's passphrase, PICTURES a
directory for a picture of the page in each case.
"""
import base64, json, os, subprocess, sys, time, urllib.parse

from fido2.utils import websafe_encode

from firefox import Firefox, fail, wait
from passkey_site import Site

HOME = os.environ["HOME"]
# The seconds for an answer, and those after which a page is taken to be left without one.
PATIENCE, SILENCE = 30, 2
WAITING, NO_CREDENTIAL = "waiting", "no credential"
ELIGIBLE = "may be backed up"
MAKE, USE = "make a passkey of this vault for", "sign in with the passkey of this vault for"
# Without these, Firefox would ask for a security key in a window. The virtual one always agrees.
PREFERENCES = {"security.webauth.webauthn_enable_softtoken": True, "security.webauth.webauthn_enable_usbtoken": False}
VIRTUAL_KEY = {
    "protocol": "ctap2_1", "transport": "usb", "hasResidentKey": True, "hasUserVerification": True,
    "isUserConsenting": True, "isUserVerified": True,
}


class Trial:
    def __init__(self, firefox, site, pictures):
        self.firefox, self.site, self.pictures, self.heard = firefox, site, pictures, 0
        self.questions()
        firefox.open_tab()

    def case(self, name, kind, wanted, *asks, url=None, frame=False, person="yes", shows=None, **wishes):
        """Opens the page, clicks a button, and compares.

        kind: the button. wanted: the page's outcome. asks: words of the question, in their order; none if the person
        must not be asked. person: yes, no, or the number of an account. shows: the extension's message. wishes: for
        the site's options.
        """
        with open(HOME + "/answer", "w") as file:
            file.write(person)
        self.go(url or self.site.url(), frame)
        self.firefox.page("""
            document.getElementById("wishes").value = arguments[1];
            document.getElementById(arguments[0]).click()""", kind, json.dumps(wishes))
        outcome, questions = self.outcome(SILENCE if wanted == WAITING else PATIENCE), self.questions()
        # A message stays for some seconds.
        isExpected = outcome == wanted and shows is not None
        shown = wait("the extension's message", self.messages) if isExpected else self.messages()
        told = [f"asked {' / '.join(question)}" for question in questions] + [f"shown {text}" for text in shown]
        print("; ".join([f"{name}: {outcome}"] + told), flush=True)
        self.take_picture(name)
        if outcome != wanted:
            fail(f"the page should see: {wanted}")
        if shown != ([shows] if shows else []):
            fail(f"the extension should show: {shows}")
        if len(questions) != (1 if asks else 0) or not self.has_words(questions, asks):
            fail(f"the person should be asked: {' / '.join(asks) or 'nothing'}")

    @staticmethod
    def has_words(questions, words):
        rest = "\n".join(line for question in questions for line in question)
        for word in words:
            _, found, rest = rest.partition(word)
            if not found:
                return False
        return True

    def questions(self):
        """The questions since the last call, each as its lines."""
        with open(HOME + "/heard") as file:
            lines = file.read().splitlines()
        new, self.heard = lines[self.heard :], len(lines)
        return [urllib.parse.unquote(line[8:]).split("\n") for line in new if line.startswith("SETDESC ")]

    def go(self, url, frame):
        self.firefox.go(url)
        if frame:
            self.firefox.call("WebDriver:SwitchToFrame", {"id": 0})
        wait("the extension's script", lambda: self.firefox.page(
            "return document.readyState === 'complete' &&"
            " !String(window.wrappedJSObject.navigator.credentials).includes('CredentialsContainer')"))

    def outcome(self, seconds):
        end = time.monotonic() + seconds
        while True:
            text = self.firefox.page("return document.getElementById('outcome').textContent")
            if text not in ("", WAITING) or time.monotonic() > end:
                return text
            time.sleep(0.1)

    def messages(self):
        return self.firefox.page("""
            return [...document.body.children]
                .map(one => one.openOrClosedShadowRoot?.querySelector(".kpxc-notification span:last-child"))
                .filter(one => one).map(one => one.textContent)""", sandbox="system")

    def take_picture(self, name):
        if not self.pictures:
            return
        self.firefox.call("WebDriver:SwitchToFrame", {"id": None})
        picture = self.firefox.call("WebDriver:TakeScreenshot", {"full": False})
        with open(f"{self.pictures}/{name.replace(',', '').replace(' ', '-')}.png", "wb") as file:
            file.write(base64.b64decode(picture))


def refusals(trial):
    """Refusals before there is a passkey: nobody is asked. The names of some errors are the extension's: it takes the
    number of a legacy code for a name."""
    site, foreign = trial.site, "Origin and RP ID do not match."
    trial.case("no passkey here", "sign-in", WAITING, shows="No logins found.")
    trial.case("another domain", "register", "18: " + foreign, shows=foreign, party="example.com")
    trial.case("a public suffix", "register", "18: " + foreign, shows=foreign, party="com")
    text = "Origin is empty or not allowed."
    trial.case("an address", "register", "NotAllowedError: " + text, shows=text, url=site.url("127.0.0.1"))
    text = "No supported algorithms were provided."
    trial.case("no algorithm", "register", "9: " + text, shows=text, algorithms=[-257])
    text = "Challenge is shorter than required minimum length."
    trial.case("a short challenge", "register", "TypeError: " + text, shows=text, length=15)
    text = "user.id does not match the required length."
    trial.case("a long name of the user", "register", "TypeError: " + text, shows=text, user="u" * 65)
    text = "Attestation not supported."
    trial.case("an attestation", "register", "NotAllowedError: " + text, shows=text, attestation="enterprise")
    text = "Unknown passkeys error."
    trial.case("a security key", "register", "NotAllowedError: " + text, shows=text, attachment="cross-platform")
    trial.case(
        "a frame of another origin", "register", NO_CREDENTIAL, frame=True,
        url=site.framed("localhost", site.url("shop.localhost")))


def ceremonies(trial):
    site = trial.site
    trial.case(
        "register", "register", f"registered ada with ES256, {ELIGIBLE}", MAKE, "localhost", "'ada' ('Ada')")
    trial.case("sign in", "sign-in", f"signed in ada, {ELIGIBLE}", USE, "localhost", "'ada' ('Ada')")
    trial.case(
        "a verified user", "sign-in", f"signed in ada, verified, {ELIGIBLE}", USE, "localhost", verification="required")
    trial.case(
        "another account", "register", f"registered bob with EdDSA, {ELIGIBLE}", MAKE, "'bob' ('Bob')", user="bob",
        algorithms=[-8, -7])
    trial.case(
        "two accounts", "sign-in", f"signed in bob, {ELIGIBLE}", "localhost", "1  'ada' ('Ada')", "2  'bob' ('Bob')",
        person="2")
    trial.case(
        "a domain above", "register", f"registered ada with ES256, {ELIGIBLE}", MAKE, "\nshop.localhost\n",
        url=site.url("www.shop.localhost"), party="shop.localhost")
    trial.case(
        "properties", "register", f'registered cy with ES256, {ELIGIBLE}, {{"credProps":{{"rk":true}}}}', MAKE, "'cy'",
        user="cy", extensions={"credProps": True, "prf": {"eval": {"first": "AQID"}}})


def lists(trial, ada):
    site = trial.site
    trial.case("a listed account", "sign-in", f"signed in ada, {ELIGIBLE}", USE, "'ada'", listed=[ada])
    trial.case("excluded", "register", WAITING, shows="Credential is excluded.", listed=[ada])
    trial.case("other accounts listed", "sign-in", WAITING, shows="Wait for timer to expire.", listed=["AAAA"])
    trial.case(
        "a frame of the same origin", "sign-in", f"signed in ada, {ELIGIBLE}", USE, "localhost", listed=[ada],
        url=site.framed("localhost", site.url()), frame=True)
    # The extension believes its script in the page, so a frame gets past it. The question names the frame's domain.
    trial.case(
        "a frame that lies", "sign-in", f"signed in ada, {ELIGIBLE}", USE, "\nshop.localhost\n", lies=True, frame=True,
        url=site.framed("localhost", site.url("www.shop.localhost")), party="shop.localhost")


def refused_by_the_person(trial):
    text, url = "Passkeys request canceled.", trial.site.url("bank.localhost")
    trial.case("cancelled", "register", NO_CREDENTIAL, MAKE, "bank.localhost", url=url, person="no", shows=text)
    trial.case("asked again at once", "register", NO_CREDENTIAL, url=url, shows=text, user="eve")


def locked_first(trial, ada):
    firefox = trial.firefox
    firefox.ask("lock_database")
    trial.case("locked", "sign-in", NO_CREDENTIAL, listed=[ada])
    # The extension's button.
    firefox.ask("get_database_hash", False, True)
    print("unlocked:", *(" / ".join(question) for question in trial.questions()))
    trial.case("after the unlock", "sign-in", f"signed in ada, {ELIGIBLE}", USE, "'ada'", listed=[ada])


def backed_up(trial, ada, passphrase):
    os.mkdir(HOME + "/share")
    subprocess.run(
        ["vault", "remote", "add", f"file://{HOME}/share", "--name", "trial", "--passphrase-file", passphrase],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    trial.case(
        "in a fleet", "sign-in", f"signed in ada, {ELIGIBLE}, backed up", USE, "'ada'", listed=[ada])


def handed_on(trial):
    """The extension's option of a fallback, which is on by default: the browser then asks for a security key."""
    firefox = trial.firefox
    firefox.set(passkeysFallback=True)
    firefox.show_tab()
    firefox.call("WebAuthn:AddVirtualAuthenticator", VIRTUAL_KEY)
    wanted = "registered {} with ES256 by a security key, verified"
    trial.case(
        "a security key, handed on", "register", wanted.format("ada"), shows="Unknown passkeys error.",
        attachment="cross-platform", url=trial.site.url("key.localhost"))
    trial.case(
        "cancelled, handed on", "register", wanted.format("eve"), MAKE, "club.localhost", person="no", user="eve",
        shows="Passkeys request canceled.", url=trial.site.url("club.localhost"))


extension, profile, passphrase, *pictures = sys.argv[1:]
with Firefox(extension, profile, PREFERENCES) as firefox:
    print("extension:", firefox.version)
    firefox.ask("associate")
    firefox.set(passkeys=True, passkeysFallback=False)
    trial = Trial(firefox, Site(), pictures[0] if pictures else None)
    refusals(trial)
    ceremonies(trial)
    ada = websafe_encode(trial.site.known("localhost")[0][1].credential_id)
    lists(trial, ada)
    refused_by_the_person(trial)
    locked_first(trial, ada)
    backed_up(trial, ada, passphrase)
    handed_on(trial)
