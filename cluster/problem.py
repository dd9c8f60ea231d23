"""What is wrong with something a person typed, as data that can be translated."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SHOWN_MAX = 40


def gettext_noop(text: str) -> str:
    """Mark a template for the message catalogues, which find it by this function's name."""
    return text


@dataclass(frozen=True)
class Problem:
    """One objection.

    `code` is stable and CamelCase, `template` an English sentence with %-style named places, and
    `params` what goes there. `str()` is the English sentence; for another language translate the
    template.
    """

    code: str
    template: str
    params: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.template % self.params


def shown(value: object) -> str:
    """What was typed, fit to be shown: shortened, and with nothing invisible in it."""
    text = value if isinstance(value, str) else repr(value)
    if len(text) > SHOWN_MAX:
        text = text[: SHOWN_MAX - 1] + "…"
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode()
        for char in text
    )
