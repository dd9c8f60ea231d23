"""Somebody who uses the portal over HTTP as a browser without scripts would."""

import json
import queue
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any, Self
from urllib.parse import urljoin

import requests

from dev.people import Person


class Unexpected(Exception):
    """The portal answered something else than the journey needs."""


class Form:
    """One form of a page: where it goes and what it holds so far."""

    def __init__(self, action: str) -> None:
        self.action = action
        self.fields: dict[str, str] = {}
        # Addresses that buttons of this form go to instead.
        self.buttons: list[str] = []


class Forms(HTMLParser):
    """The forms of a page."""

    def __init__(self, page: requests.Response) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._url, self._open = page.url, False
        self._select = self._textarea = ""
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        if tag == "form":
            action = urljoin(self._url, values.get("action", ""))
            self.found.append(Form(action))
            self._open = True
        if not self._open:
            return
        form, name = self.found[-1], values.get("name", "")
        if tag == "button" and "formaction" in values:
            form.buttons.append(urljoin(self._url, values["formaction"]))
        elif tag == "input" and name:
            form.fields[name] = values.get("value", "")
        elif tag == "textarea" and name:
            self._textarea, form.fields[name] = name, ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._chosen(form, values):
            form.fields[self._select] = values.get("value", "")

    def _chosen(self, form: Form, option: dict[str, str]) -> bool:
        """The marked option of a selection, or else its first."""
        return bool(self._select) and ("selected" in option or self._select not in form.fields)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = False
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._textarea = ""

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.found[-1].fields[self._textarea] += data


class Visitor:
    """A person with a session of their own at the portal of this address."""

    def __init__(self, portal: str, person: Person) -> None:
        self.portal, self.person = portal, person
        self._session = requests.Session()
        self._session.trust_env = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._session.close()

    def sign_in(self) -> Self:
        """From the portal to the identity provider and back."""
        choice = self.get("/oidc/authenticate/")
        self._checked(self._session.post(choice.url, data={"sub": self.person.subject}, timeout=30))
        me = self.json("/api/v1/me/")
        if me["subject"] != self.person.subject:
            raise Unexpected(f"signed in as {me}")
        return self

    def get(self, path: str) -> requests.Response:
        """A page. Raises Unexpected for anything but a success."""
        return self._checked(self._session.get(urljoin(self.portal, path), timeout=30))

    def json(self, path: str) -> Any:
        """What the API answers."""
        return self.get(path).json()

    def submit(self, page: requests.Response, to: str = "", **fields: str) -> requests.Response:
        """Sends the form of the page that has these fields, or that has a button with this end."""
        for form in Forms(page).found:
            action = next((url for url in form.buttons if to and url.endswith(to)), form.action)
            if fields.keys() <= form.fields.keys() and action.endswith(to):
                break
        else:
            raise Unexpected(f"{page.url} has no form with {sorted(fields)} {to}")
        data = {**form.fields, **fields}
        return self._checked(
            self._session.post(action, data=data, headers={"Referer": page.url}, timeout=30)
        )

    @contextmanager
    def stream(self, *topics: str) -> Iterator["Events"]:
        """What the pages that follow these topics are told."""
        with self._session.get(
            urljoin(self.portal, "/stream/"), params={"topic": topics}, stream=True, timeout=60
        ) as response:
            yield Events(self._checked(response))
            # Closing alone would wait for the reader, and the reader for the next event.
            response.raw.connection.sock.shutdown(socket.SHUT_RDWR)

    def _checked(self, response: requests.Response) -> requests.Response:
        if not response.ok:
            said = " ".join(response.text.split())[:500]
            raise Unexpected(f"{self.person.name}: {response.status_code} {response.url}: {said}")
        return response


class Events:
    """Server-sent events, each with the time at which it came."""

    def __init__(self, response: requests.Response) -> None:
        self._came: queue.Queue[tuple[float, str, Any]] = queue.Queue()
        threading.Thread(target=self._read, args=[response], daemon=True).start()

    def until(self, wanted: Any, timeout: float = 30) -> float:
        """Waits for an event of which `wanted(name, data)` holds; when it came (perf_counter)."""
        end = time.monotonic() + timeout
        last: Any = None
        while (left := end - time.monotonic()) > 0:
            try:
                at, *last = self._came.get(timeout=left)
            except queue.Empty:
                break
            if wanted(*last):
                return float(at)
        raise Unexpected(f"the stream did not tell in {timeout:.0f} s; last: {last}")

    def _read(self, response: requests.Response) -> None:
        name = ""
        try:
            for line in response.iter_lines(chunk_size=1):
                key, _, value = line.decode().partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    data = json.loads(value)
                    self._came.put((time.perf_counter(), name, data))
        except (requests.RequestException, AttributeError):  # closed by whoever opened it
            return
