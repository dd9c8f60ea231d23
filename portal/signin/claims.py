"""What a provider says of a person, read without believing its shape. Pure."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from portal.text import is_storable

log = logging.getLogger(__name__)

Claims = Mapping[str, Any]

# OpenID Connect Core 1.0, section 2: a subject is at most 255 ASCII characters.
SUBJECT_MAX = 255


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person as the provider describes them now. `groups` is None where it did not say."""

    subject: str
    name: str
    email: str
    groups: list[str] | None


def person_of(*sources: Claims, groups_claim: str) -> Person:
    """Read a person from verified claims; the first source that has something wins.

    The first source is the one that names the subject. An e-mail address and a name are for display
    only, so whether the provider has verified them does not matter.
    """
    return Person(
        subject=sources[0]["sub"],
        name=_first_text(sources, "name") or _first_text(sources, "preferred_username"),
        email=_first_text(sources, "email"),
        groups=groups_of(*sources, claim=groups_claim),
    )


def is_subject(value: object) -> bool:
    """Whether this can be the subject that a user is known by."""
    return isinstance(value, str) and 0 < len(value) <= SUBJECT_MAX and is_storable(value)


def groups_of(*sources: Claims, claim: str) -> list[str] | None:
    """The groups in the first of these sources that speaks of them; None where none does.

    `claim` is a claim's name, or a dotted path such as `realm_access.roles`. A list of strings is
    what it says, a single string is one group, an empty list is no group. A claim of any other
    shape is refused as a whole: half of somebody's groups would be a guess.
    """
    for source in sources:
        if _has_too_many(source, claim):
            log.warning("groups unknown: the provider left out %r, too many to list", claim)
            continue
        value = _at(source, claim)
        if value is not None:
            return _as_groups(value, claim)
    return None


def _as_groups(value: object, claim: str) -> list[str] | None:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        log.warning("groups unknown: %r is a %s, not a list", claim, type(value).__name__)
        return None
    odd = {type(item).__name__ for item in value if not isinstance(item, str)}
    if odd:
        log.warning("groups unknown: %r has items that are no strings: %s", claim, sorted(odd))
        return None
    if not all(is_storable(item) for item in value):
        log.warning("groups unknown: %r has a name that is no text", claim)
        return None
    return [item for item in value if item]


def _at(source: Claims, path: str) -> object:
    """The value of the claim of this name, or at this dotted path; None where there is none."""
    if path in source:  # a name may hold dots itself, as `https://example.org/groups` does
        return source[path]
    value: object = source
    for step in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def _has_too_many(source: Claims, claim: str) -> bool:
    """Whether the provider says that there are groups, only not which.

    `_claim_names` points elsewhere (OpenID Connect Core 1.0, section 5.6.2); `hasgroups` is
    Microsoft Entra's word for it in short tokens.
    """
    elsewhere = source.get("_claim_names")
    return (isinstance(elsewhere, Mapping) and claim in elsewhere) or bool(source.get("hasgroups"))


def _first_text(sources: tuple[Claims, ...], claim: str) -> str:
    values = (source.get(claim) for source in sources)
    return next((v for v in values if isinstance(v, str) and v and is_storable(v)), "")
