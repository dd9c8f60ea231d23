"""Names: of namespaces, of groups in a binding, and values of labels."""

import hashlib
import re
import unicodedata
from collections.abc import Collection

from cluster.problem import Problem, gettext_noop, shown

# RFC 1123 label, as apimachinery's IsDNS1123Label.
NAMESPACE_MAX = 63
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")

# apimachinery's IsValidLabelValue.
LABEL_VALUE_MAX = 63
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_NOT_IN_LABEL_VALUE = re.compile(r"[^-A-Za-z0-9_.]+")
_HASH_LENGTH = 10

RESERVED_GROUP_PREFIX = "system:"


class GroupError(ValueError):
    """No role may be bound to this group; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def check_namespace_name(
    name: object, *, reserved: Collection[str], reserved_prefixes: Collection[str]
) -> Problem | None:
    """Why no namespace may have this name: the API server's own rule, then what is kept back."""
    if not isinstance(name, str) or not name:
        return Problem("Missing", gettext_noop("Give the namespace a name."))
    if len(name) > NAMESPACE_MAX:
        template = gettext_noop("At most %(limit)s characters.")
        return Problem("TooLong", template, {"limit": str(NAMESPACE_MAX)})
    if not _LABEL.fullmatch(name):
        template = gettext_noop(
            "“%(name)s” cannot be a namespace's name. Use small letters a to z, digits and "
            "hyphens, with a letter or digit at both ends."
        )
        return Problem("NotALabel", template, {"name": shown(name)})
    if name in reserved:
        template = gettext_noop("The name “%(name)s” is reserved.")
        return Problem("Reserved", template, {"name": name})
    for prefix in sorted(reserved_prefixes):
        if prefix and name.startswith(prefix):
            template = gettext_noop("Names that begin with “%(prefix)s” are reserved.")
            return Problem("Reserved", template, {"prefix": prefix})
    return None


def check_group(name: object) -> Problem | None:
    """Why no role may be bound to a group of this name.

    RBAC compares byte for byte, so a legal name is kept as the identity provider sends it: with
    spaces inside, ':' or '@', in any case and any Unicode form.
    """
    if not isinstance(name, str) or not name:
        return Problem("Missing", gettext_noop("Give the group's name."))
    if any(unicodedata.category(char) in {"Cc", "Cs", "Zl", "Zp"} for char in name):
        template = gettext_noop("“%(name)s” contains a control character.")
        return Problem("ControlCharacter", template, {"name": shown(name)})
    if _is_blank(name[0]) or _is_blank(name[-1]):
        template = gettext_noop("“%(name)s” begins or ends with a space.")
        return Problem("OuterSpace", template, {"name": shown(name)})
    if _looks_reserved(name):
        template = gettext_noop("“%(name)s” belongs to Kubernetes itself and cannot be given away.")
        return Problem("Reserved", template, {"name": shown(name)})
    return None


def subject(prefix: str, group: str) -> str:
    """The group's name in a binding: with the API server's group prefix, exactly once.

    `prefix` is what the cluster puts before the groups of a token (`claimMappings.groups.prefix`).
    Raises GroupError where either the group or what comes out is not to be bound.
    """
    bare = group.removeprefix(prefix)
    final = prefix + bare
    for name in (group, bare, final):
        if problem := check_group(name):
            raise GroupError(problem)
    return final


def label_value(text: str) -> str:
    """This text as the value of a label: itself where that is legal, else shortened, with a hash.

    Different texts stay different.
    """
    if len(text) <= LABEL_VALUE_MAX and _LABEL_VALUE.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    readable = _NOT_IN_LABEL_VALUE.sub("-", text)[: LABEL_VALUE_MAX - _HASH_LENGTH - 1]
    readable = readable.strip("-_.")
    return f"{readable}-{digest}" if readable else digest


def _is_blank(char: str) -> bool:
    # Cf: characters without width, such as U+200B.
    return char.isspace() or unicodedata.category(char) == "Cf"


def _looks_reserved(name: str) -> bool:
    """Whether it begins with `system:` for somebody who trims, folds case or normalises."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(c for c in folded if not _is_blank(c)).startswith(RESERVED_GROUP_PREFIX)
