"""Calls the REST API as a person whose browser has signed in lately."""

import json
import time

from django.test import Client

from portal.signin.session import EXPIRES


class Caller:
    """`caller.post("requests/", {...})`; the answer is Django's test response."""

    def __init__(self, user=None, **options):
        self.client = Client(**options)
        if user is not None:
            self.client.force_login(user)
            session = self.client.session
            session[EXPIRES] = time.time() + 600
            session.save()

    def get(self, path, **query):
        return self.client.get(f"/api/v1/{path}", query)

    def post(self, path, body=None, **headers):
        return self.send("POST", path, body, headers)

    def put(self, path, body):
        return self.send("PUT", path, body)

    def patch(self, path, body):
        return self.send("PATCH", path, body)

    def send(self, method, path, body=None, headers=None):
        """`body` is sent as it is if it is bytes, else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body or {})
        return self.client.generic(
            method, f"/api/v1/{path}", content, content_type="application/json", headers=headers
        )


def errors(response, status=400):
    """The errors of a problem answer by path, after a look at its form."""
    assert response.status_code == status, response.content
    assert response.headers["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    return body.get("errors", {})
