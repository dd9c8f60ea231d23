"""Whether amounts make sense as a ResourceQuota's `hard` and as a LimitRange's defaults.

One verdict for form, API and worker. Several of these the API server accepts without a word and
then enforces nothing, or something nobody meant.
"""

import re
from collections.abc import Mapping
from decimal import Decimal

from cluster.problem import Problem, gettext_noop, shown
from cluster.quantities import QuantityError, has_binary_suffix, human, is_bytes, parse

# Quota key -> the nodes' resource it counts.
COUNTED = {
    "requests.cpu": "cpu",
    "requests.memory": "memory",
    "limits.cpu": "cpu",
    "limits.memory": "memory",
    "pods": "pods",
}
MEMORY_LEAST = Decimal(2**20)
# Limits may be promised many times over, but past this it is a slip of the pen.
LIMITS_PER_CAPACITY = 10

# An extended resource: a domain that is not Kubernetes' own, a slash, a name.
_EXTENDED = re.compile(
    r"(?=.{1,253}/)[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_OWN_DOMAIN = re.compile(r"([^/]*\.)?kubernetes\.io/.*")


def check_amounts(
    amounts: Mapping[str, object], *, offered: Mapping[str, Decimal] | None
) -> dict[str, Problem]:
    """What stands against these amounts, by quota key; empty where nothing does.

    `offered` is what all nodes of the cluster offer together, per node resource (`cpu`, `memory`,
    `nvidia.com/gpu`). With None, before anybody has seen the nodes, only the shape is judged; ask
    again once it is known. `requests.*` and `pods` may not pass what is offered, `limits.*` not ten
    times that. An accelerator can be limited only by `requests.<resource>`, in whole pieces, and
    only if a node offers it: any other key is stored by the API server and limits nothing.
    """
    problems: dict[str, Problem] = {}
    numbers: dict[str, Decimal] = {}
    for key, text in amounts.items():
        problem = _key_problem(key, offered)
        if problem is None:
            number = _number(key, text)
            if isinstance(number, Problem):
                problem = number
            else:
                numbers[key] = number
                problem = _too_much(key, number, offered)
        if problem is not None:
            problems[key] = problem
    for resource in ("cpu", "memory"):
        request, limit = numbers.get(f"requests.{resource}"), numbers.get(f"limits.{resource}")
        if request is not None and limit is not None and request > limit:
            problems.setdefault(f"requests.{resource}", _above_limit(resource, request, limit))
    return problems


def check_limit_range(
    default: Mapping[str, object], default_request: Mapping[str, object]
) -> dict[str, Problem]:
    """What stands against these defaults of a container, by path (`limit_default/cpu`).

    `default` are its limits, `default_request` its requests where it names none. A limit of zero is
    refused: for a container it means no limit.
    """
    problems: dict[str, Problem] = {}
    numbers: dict[tuple[str, str], Decimal] = {}
    for field, values in (("limit_default", default), ("limit_default_request", default_request)):
        for resource, text in values.items():
            found: Decimal | Problem
            if resource not in ("cpu", "memory"):
                found = _unknown(resource)
            else:
                found = _number(resource, text)
            if isinstance(found, Decimal) and field == "limit_default" and not found:
                template = gettext_noop("A limit of zero would mean no limit.")
                found = Problem("ZeroLimit", template)
            if isinstance(found, Problem):
                problems[f"{field}/{resource}"] = found
            else:
                numbers[field, resource] = found
    for resource in ("cpu", "memory"):
        request = numbers.get(("limit_default_request", resource))
        limit = numbers.get(("limit_default", resource))
        if request is not None and limit is not None and request > limit:
            path = f"limit_default_request/{resource}"
            problems[path] = _above_limit(resource, request, limit)
    return problems


def is_extended(resource: str) -> bool:
    """Whether this is the name of an extended resource, such as `nvidia.com/gpu`."""
    return bool(_EXTENDED.fullmatch(resource)) and not _OWN_DOMAIN.fullmatch(resource)


def _key_problem(key: str, offered: Mapping[str, Decimal] | None) -> Problem | None:
    if key in COUNTED:
        return None
    resource = key.removeprefix("requests.")
    if is_extended(key.removeprefix("limits.")) and not key.startswith("requests."):
        template = gettext_noop("The cluster would not enforce this key. Use “%(key)s”.")
        right = f"requests.{key.removeprefix('limits.')}"
        return Problem("NotEnforced", template, {"key": right})
    if resource == key or not is_extended(resource):
        return _unknown(key)
    if offered is not None and resource not in offered:
        template = gettext_noop("No node of this cluster offers “%(resource)s”.")
        return Problem("NotOffered", template, {"resource": shown(resource)})
    return None


def _unknown(key: object) -> Problem:
    template = gettext_noop("“%(key)s” cannot be limited here.")
    return Problem("UnknownResource", template, {"key": shown(key)})


def _number(key: str, text: object) -> Decimal | Problem:
    """The amount of this resource as a number, or what is wrong with it."""
    try:
        number = parse(text)
    except QuantityError as error:
        return error.problem
    if number < 0:
        template = gettext_noop("An amount cannot be negative.")
        return Problem("Negative", template)
    if is_bytes(key):
        if 0 < number < MEMORY_LEAST:
            template = gettext_noop(
                "“%(text)s” is less than 1 MiB. For mebibytes write Mi, for gibibytes Gi."
            )
            return Problem("TooLittleMemory", template, {"text": shown(text)})
    elif has_binary_suffix(str(text)):
        template = gettext_noop("“%(text)s”: Ki, Mi, Gi and so on are for memory only.")
        return Problem("BinarySuffix", template, {"text": shown(text)})
    elif not key.endswith("cpu") and number % 1:
        template = gettext_noop("Only whole numbers: “%(text)s” is not one.")
        return Problem("NotWhole", template, {"text": shown(text)})
    return number


def _too_much(key: str, number: Decimal, offered: Mapping[str, Decimal] | None) -> Problem | None:
    if offered is None:
        return None
    resource = COUNTED.get(key) or key.removeprefix("requests.")
    capacity = offered.get(resource, Decimal(0))
    most = capacity * LIMITS_PER_CAPACITY if key.startswith("limits.") else capacity
    if number <= most:
        return None
    params = {"most": human(key, most), "capacity": human(key, capacity)}
    if key.startswith("limits."):
        template = gettext_noop(
            "At most %(most)s, ten times what all nodes of this cluster have (%(capacity)s)."
        )
    else:
        template = gettext_noop("All nodes of this cluster together have %(capacity)s.")
    return Problem("AboveCapacity", template, params)


def _above_limit(resource: str, request: Decimal, limit: Decimal) -> Problem:
    template = gettext_noop("The request (%(request)s) is above the limit (%(limit)s).")
    params = {"request": human(resource, request), "limit": human(resource, limit)}
    return Problem("AboveLimit", template, params)
