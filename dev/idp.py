"""An OpenID Connect provider with the people of dev/people.py.

One provider answers twice: over plain http for the portal and the browser, so that nobody meets a
certificate warning, and over https for the cluster, whose API server takes no other issuer. The
issuer in a token is the address it was asked at, so a token from one side is no token of the other.
Clients: `berth` is the portal's, `kubernetes` is kubectl's.

`python -m dev.idp FOLDER` is the process that `IdP(FOLDER).start()` runs.
"""

import base64
import hashlib
import os
import secrets
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

import requests
import trustme

from dev.part import Part, answers, write
from dev.people import EVERYBODY, Person

if TYPE_CHECKING:
    from oidc_provider_mock._storage import Storage

PORTAL_CLIENT, CLUSTER_CLIENT = "berth", "kubernetes"
# Where the code flow of `id_token` ends; nothing listens there.
NOWHERE = "http://127.0.0.1:1/callback"


class IdP(Part):
    """The provider. Its key is kept with its folder, so that tokens outlive a restart."""

    def __init__(self, folder: Path, *, http_ports: range = range(0)) -> None:
        super().__init__(folder)
        self._http_ports = http_ports

    def prepare(self) -> None:
        """Chooses ports and makes the certificate; who needs only these need not wait for more."""
        self._make_certificate()
        self.port("http", self._http_ports)
        self.port("https")

    def start(self, *, prepared: bool = False) -> Self:
        if not prepared:
            self.prepare()
        process = self.run("idp", [sys.executable, "-m", "dev.idp", self.folder])
        process.wait_until(lambda: all(answers(self.port_of(s)) for s in ("http", "https")), 60)
        return self

    @property
    def issuer(self) -> str:
        """The issuer for the portal: plain http on loopback."""
        return f"http://127.0.0.1:{self.port_of('http')}"

    @property
    def cluster_issuer(self) -> str:
        """The issuer for the API server: https, with a certificate of `ca`."""
        return f"https://127.0.0.1:{self.port_of('https')}"

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def environment(self) -> dict[str, str]:
        """The portal's settings for signing in here."""
        return {
            "OIDC_ISSUER": self.issuer,
            "OIDC_CLIENT_ID": PORTAL_CLIENT,
            "OIDC_CLIENT_SECRET": "any",
            "OIDC_AUTHORIZATION_ENDPOINT": f"{self.issuer}/oauth2/authorize",
            "OIDC_TOKEN_ENDPOINT": f"{self.issuer}/oauth2/token",
            "OIDC_USERINFO_ENDPOINT": f"{self.issuer}/userinfo",
            "OIDC_JWKS_ENDPOINT": f"{self.issuer}/jwks",
            "OIDC_END_SESSION_ENDPOINT": f"{self.issuer}/oauth2/end_session",
        }

    def id_token(
        self, person: Person, client_id: str = CLUSTER_CLIENT, *, lifetime: float | None = None
    ) -> str:
        """An ID token of this person for the cluster's issuer, by the code flow over https.

        With a `lifetime` in seconds (negative: expired already), which the provider cannot be asked
        for, the token is signed here with the provider's own key.
        """
        if lifetime is not None:
            return self._sign(person, client_id, lifetime)
        verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": NOWHERE,
            "scope": "openid profile email",
            "state": secrets.token_urlsafe(8),
            "nonce": secrets.token_urlsafe(8),
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        with requests.Session() as session:
            session.trust_env, session.verify = False, str(self.ca)
            chosen = session.post(
                f"{self.cluster_issuer}/oauth2/authorize",
                params=asked,
                data={"sub": person.subject},
                allow_redirects=False,
                timeout=10,
            )
            back = parse_qs(urlsplit(chosen.headers["Location"]).query)
            answer = session.post(
                f"{self.cluster_issuer}/oauth2/token",
                data={
                    "grant_type": "authorization_code",
                    "code": back["code"][0],
                    "redirect_uri": NOWHERE,
                    "client_id": client_id,
                    "code_verifier": verifier,
                },
                timeout=10,
            )
        answer.raise_for_status()
        return str(answer.json()["id_token"])

    def _sign(self, person: Person, client_id: str, lifetime: float) -> str:
        from joserfc import jwk, jwt

        key = jwk.RSAKey.import_key(self.key.read_text())
        now = int(time.time())
        claims = {
            "iss": self.cluster_issuer,
            "sub": person.subject,
            "aud": client_id,
            "iat": now + min(0, int(lifetime)) - 1,
            "exp": now + int(lifetime),
            **person.claims,
        }
        return jwt.encode({"alg": "RS256"}, claims, key)

    @property
    def key(self) -> Path:
        """The key that signs tokens."""
        return self.folder / "key.pem"

    def _make_certificate(self) -> None:
        if self.ca.exists():
            return
        ca = trustme.CA(organization_name="Berth demo", organization_unit_name="identity provider")
        cert = ca.issue_cert("127.0.0.1", "localhost")
        write(self.folder / "tls.key", cert.private_key_pem.bytes(), mode=0o600)
        write(self.folder / "tls.pem", b"".join(part.bytes() for part in cert.cert_chain_pems))
        write(self.ca, ca.cert_pem.bytes())


# --- the process --------------------------------------------------------------------------------


def serve(idp: IdP) -> None:
    """Answers on both ports until it is told to end."""
    import oidc_provider_mock
    import uvicorn

    # The library refuses plain http otherwise; this is loopback.
    os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
    people = [oidc_provider_mock.User(sub=p.subject, claims=p.claims) for p in EVERYBODY]
    app = oidc_provider_mock.app(user_claims=people)
    app.secret_key = idp.secret("session")
    _show_people(app)
    _keep_key(_storage(app), idp.key)
    tls: dict[str, Any] = {
        "ssl_keyfile": idp.folder / "tls.key",
        "ssl_certfile": str(idp.folder / "tls.pem"),
    }
    servers = []
    for scheme, options in {"http": {}, "https": tls}.items():
        config = uvicorn.Config(
            app, port=idp.port_of(scheme), interface="wsgi", log_level="warning", **options
        )
        servers.append(uvicorn.Server(config))
    # Only the main thread's server is told of signals, so the other one must not hold up the end.
    threading.Thread(target=servers[0].run, daemon=True).start()
    servers[1].run()


def _show_people(app: "object") -> None:
    """Asks who one is on a page of ours; the library's own takes its style from elsewhere."""
    import flask
    from jinja2 import ChoiceLoader, FileSystemLoader

    assert isinstance(app, flask.Flask)
    ours = FileSystemLoader(Path(__file__).with_name("idp_pages"))
    app.jinja_loader = ChoiceLoader([ours, *filter(None, [app.jinja_loader])])
    app.jinja_env.globals["people"] = EVERYBODY


def _storage(app: "object") -> "Storage":
    """The provider's one storage, which it makes itself and shows only inside a request."""
    import flask

    assert isinstance(app, flask.Flask)
    with app.test_request_context():
        app.preprocess_request()
        storage: Storage = flask.g.oidc_provider_mock_storage
        return storage


def _keep_key(storage: "Storage", path: Path) -> None:
    """Uses the key of an earlier start, or keeps the new one."""
    from joserfc import jwk

    if path.exists():
        storage.jwk = jwk.RSAKey.import_key(path.read_text())
    else:
        write(path, storage.jwk.as_pem(private=True), mode=0o600)


if __name__ == "__main__":
    serve(IdP(Path(sys.argv[1])))
