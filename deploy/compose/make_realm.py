"""Writes realm.json: the Keycloak realm with the people that the demo knows (dev/people.py).

Run from the top of the repository: `python -m deploy.compose.make_realm`.
"""

import json
from pathlib import Path
from typing import Any

from dev.people import EVERYBODY

TARGET = Path(__file__).with_name("realm.json")
PORTAL = "https://berth.localhost:8443"


def realm() -> dict[str, Any]:
    """The realm as Keycloak imports it. Everybody's password is `berth`."""
    return {
        "realm": "berth",
        "enabled": True,
        "sslRequired": "all",
        "groups": [{"name": name} for name in sorted({g for p in EVERYBODY for g in p.groups})],
        "users": [
            {
                "username": person.subject,
                "enabled": True,
                "email": person.email,
                "emailVerified": True,
                "firstName": person.name.split()[0],
                "lastName": " ".join(person.name.split()[1:]),
                "credentials": [{"type": "password", "value": "berth"}],
                "groups": [f"/{name}" for name in person.groups],
            }
            for person in EVERYBODY
        ],
        "clients": [
            {
                "clientId": "berth",
                "name": "Berth",
                "secret": "trial-secret-of-the-berth-client",
                "redirectUris": [f"{PORTAL}/oidc/callback/"],
                "attributes": {
                    "pkce.code.challenge.method": "S256",
                    "post.logout.redirect.uris": f"{PORTAL}/*",
                },
                "standardFlowEnabled": True,
                "directAccessGrantsEnabled": False,
                "protocolMappers": [_groups()],
            },
            {
                # kubectl's: a public client on the person's own machine.
                "clientId": "kubernetes",
                "name": "Kubernetes",
                "publicClient": True,
                "redirectUris": ["http://localhost:8000", "http://localhost:18000"],
                "attributes": {"pkce.code.challenge.method": "S256"},
                "standardFlowEnabled": True,
                "directAccessGrantsEnabled": False,
                "protocolMappers": [_groups()],
            },
        ],
    }


def _groups() -> dict[str, Any]:
    return {
        "name": "groups",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-group-membership-mapper",
        "config": {
            "claim.name": "groups",
            "full.path": "false",
            "id.token.claim": "true",
            "access.token.claim": "true",
            "userinfo.token.claim": "true",
        },
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(realm(), indent=2, ensure_ascii=False) + "\n")
