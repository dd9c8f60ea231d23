"""How a service says no. Views, API and tasks turn these into their own form, words unchanged."""

from collections.abc import Mapping, Sequence

from django.utils.functional import Promise

Sentence = str | Promise
# Field path -> sentences. Paths are "team", "name", "amounts/requests.cpu",
# "limit_default/memory"; "" is the request as a whole.
Problems = Mapping[str, Sequence[Sentence]]


class Refused(Exception):
    """The input can't be taken; nothing was written. HTTP 400."""

    def __init__(self, problems: Problems) -> None:
        super().__init__("; ".join(f"{k}: {s}" for k, v in problems.items() for s in v))
        self.problems = problems


class NotAllowed(Exception):
    """This person may not do this; nothing was written. HTTP 403."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


class Conflict(Exception):
    """Somebody else was first, or the thing changed since it was shown. HTTP 409."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence
