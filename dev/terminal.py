"""What somebody sees who waits: one line that changes, or on a pipe a line now and then."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

# On a pipe or in a log, a line that changes is told of no more often than this, in seconds.
SELDOM = 15


class Line:
    """A line that is written over, on standard error."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._shown = ""
        self._at = float("-inf")

    def show(self, text: str) -> None:
        if self._live:
            sys.stderr.write(f"\r\x1b[2K{text}")
            sys.stderr.flush()
        elif text != self._shown and time.monotonic() > self._at + SELDOM:
            print(text, file=sys.stderr, flush=True)
            self._at = time.monotonic()
        self._shown = text

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live and self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


def say(text: str = "") -> None:
    print(text, flush=True)


@contextmanager
def step(title: str) -> Iterator[None]:
    """Names a step while it runs, and says how long it took."""
    start = time.monotonic()
    if sys.stdout.isatty():
        print(f"  … {title}", end="", flush=True)
    try:
        yield
    except BaseException:
        say(f"\r  ✗ {title}")
        raise
    print(f"\r  ✓ {title} ({time.monotonic() - start:.1f} s)", flush=True)
