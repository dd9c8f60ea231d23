"""An identity provider that can be told to misbehave: a real server with a key of its own."""

import contextlib
import json
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT = "berth"


@cache
def key(name: str) -> rsa.RSAPrivateKey:
    """A key of this name, made once: making one takes a while."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(name: str) -> bytes:
    return (
        key(name)
        .public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )


class Provider:
    """What each endpoint answers: a body, or (status, body), or seconds to wait before a 200."""

    def __init__(self) -> None:
        self.key = "first"
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.answers: dict[str, Any] = {}
        self.claims: dict[str, Any] = {"sub": "ada", "name": "Ada", "email": "ada@example.org"}
        self.userinfo: dict[str, Any] = {"sub": "ada"}
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider._answer(self)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def restart_with(self, key: str) -> None:
        self.key = key

    def token(self, **changes: Any) -> str:
        """A token that is right, but for these changes; None takes a claim away."""
        algorithm = changes.pop("alg", "RS256")
        signer = changes.pop("signer", key(self.key))
        headers = changes.pop("headers", {"kid": self.key})
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, **self.claims}
        claims = {k: v for k, v in {**claims, **changes}.items() if v is not None}
        return jwt.encode(claims, signer, algorithm, headers=headers)

    def jwks(self) -> dict[str, Any]:
        data = jwt.algorithms.RSAAlgorithm.to_jwk(key(self.key).public_key(), as_dict=True)
        return {"keys": [{**data, "kid": self.key, "use": "sig"}]}

    def settings(self) -> dict[str, Any]:
        """The portal's settings for this provider."""
        return {
            "OIDC_ISSUER": self.url,
            "OIDC_OP_AUTHORIZATION_ENDPOINT": f"{self.url}/authorize",
            "OIDC_OP_TOKEN_ENDPOINT": f"{self.url}/token",
            "OIDC_OP_USER_ENDPOINT": f"{self.url}/userinfo",
            "OIDC_OP_JWKS_ENDPOINT": f"{self.url}/jwks",
            "OIDC_OP_LOGOUT_ENDPOINT": f"{self.url}/logout",
            "OIDC_RP_CLIENT_ID": CLIENT,
            "OIDC_RP_CLIENT_SECRET": "",
            "OIDC_API_AUDIENCES": [CLIENT],
            "OIDC_TIMEOUT": 0.5,
        }

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        endpoint = handler.path.split("?")[0].strip("/")
        length = int(handler.headers.get("Content-Length", 0))
        self.asked.append((endpoint, parse_qs(handler.rfile.read(length).decode())))
        answer = self.answers.get(endpoint)
        status: int = 200
        if isinstance(answer, float):
            time.sleep(answer)
            answer = None
        if isinstance(answer, tuple):
            status, answer = answer
        if answer is None:
            own = {"jwks": self.jwks(), "userinfo": self.userinfo, "token": {}}
            answer = own[endpoint]
        body = answer if isinstance(answer, str) else json.dumps(answer)
        kind = "application/jwt" if body.startswith("ey") else "application/json"
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # asker gave up waiting
            handler.wfile.write(body.encode())


def label(case: object) -> str:
    """A test's name for a case: the same in every process, so keys are named by their kind."""
    if isinstance(case, dict) and "signer" in case:
        case = {**case, "signer": type(case["signer"]).__name__}
    return str(case)
