"""Kubernetes quantities: the API server's grammar and arithmetic, and nothing it would refuse.

The grammar and the form in which a quantity is kept follow `ParseQuantity` and `CanonicalizeBytes`
in k8s.io/apimachinery/pkg/api/resource. All quantities here stand in lists of resources, and in
these the server rounds up to whole thousandths (`SetDefaults_ResourceList` in its core/v1): `100u`
is kept as `1m`.

Three things are stricter here: text without a digit (which the server reads as 0), values past
2^63-1 (which it caps or corrupts), and exponents of more than three digits (over which it broods
for minutes).
"""

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Literal

from cluster.problem import Problem, gettext_noop, shown

CEILING = 2**63 - 1
TEXT_MAX = 100
MILLI = 1000

_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE])i|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,3}))?"
)
_BINARY = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")

Format = Literal["binary", "decimal", "exponent"]


class QuantityError(ValueError):
    """This is no quantity that Berth would write; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True)
class _Quantity:
    """A quantity in whole thousandths, with what its canonical form depends on."""

    millis: int
    format: Format
    # Whether the API server keeps the text as it was written.
    kept: bool


def parse(text: object) -> Decimal:
    """The exact number, in the resource's own unit (cores, bytes, pieces).

    What is finer than a thousandth is rounded away from zero, as the server does it. Raises
    QuantityError for anything that is not a quantity and for numbers that the server cannot hold.
    """
    quantity = _read(text)
    if abs(quantity.millis) > CEILING * MILLI:
        template = gettext_noop("“%(text)s” is larger than a cluster can count.")
        raise QuantityError(Problem("TooLarge", template, {"text": shown(text)}))
    return _number(quantity.millis)


def canonical(text: str) -> str:
    """The form in which the API server keeps this quantity. Raises QuantityError."""
    parse(text)
    quantity = _read(text)
    millis = quantity.millis
    if millis == 0:
        return "0"
    if quantity.kept:
        return text
    whole, rest = divmod(millis, MILLI)
    if quantity.format == "binary" and not rest and abs(whole) >= 1024:
        return _binary(whole)
    # A mantissa without trailing zeros, then back to an exponent that has a suffix.
    exponent = -3
    while millis % 1000 == 0:
        millis //= 1000
        exponent += 3
    if quantity.format == "exponent":
        return f"{millis}e{exponent}" if exponent else str(millis)
    return f"{millis}{_DECIMAL_SUFFIX[exponent]}"


def same(a: object, b: object) -> bool:
    """Whether two texts mean the same number; what cannot be read equals nothing.

    Values past the ceiling are compared too: somebody else may have written them.
    """
    try:
        return _read(a).millis == _read(b).millis
    except QuantityError:
        return False


def has_binary_suffix(text: str) -> bool:
    """Whether it is written with Ki, Mi and so on, which makes sense for bytes only."""
    return text.endswith("i")


def human(resource: str, value: Decimal | str) -> str:
    """Short form for people, without words to translate: `1.2 GiB` for bytes, else `0.5` or `20`.

    `resource` is a quota key or a node's resource. Raises QuantityError where `value` is text that
    is no quantity.
    """
    number = parse(value) if isinstance(value, str) else value
    if not is_bytes(resource):
        return _short(number, places=3)
    unit = 0
    # By the rounded number, so that no 1024 MiB stands where 1 GiB is meant.
    while unit < len(_BINARY_UNITS) - 1 and _rounded(abs(number), places=1) >= 1024:
        number /= 1024
        unit += 1
    return f"{_short(number, places=1)} {_BINARY_UNITS[unit]}"


def is_bytes(resource: str) -> bool:
    """Whether this resource is counted in bytes."""
    name = resource.removeprefix("requests.").removeprefix("limits.")
    return name in {"memory", "storage", "ephemeral-storage"} or name.startswith("hugepages-")


def _read(text: object) -> _Quantity:
    if not isinstance(text, str):
        template = gettext_noop('%(text)s must be written as text, such as "4" or "1.5Gi".')
        raise QuantityError(Problem("NotText", template, {"text": shown(text)}))
    match = _GRAMMAR.fullmatch(text) if len(text) <= TEXT_MAX else None
    if match is None or not (match["whole"] or match["part"]):
        template = gettext_noop(
            "“%(text)s” is not a quantity. Write a number with or without a suffix, "
            "such as 4, 500m, 1.5Gi or 100M."
        )
        raise QuantityError(Problem("NotAQuantity", template, {"text": shown(text)}))
    whole, part = match["whole"].lstrip("0"), match["part"] or ""
    digits = int(whole + part or "0")
    exponent, format = _scale(match)
    millis = digits << exponent if format == "binary" else digits
    power = 3 - len(part) + (0 if format == "binary" else exponent)
    # Away from zero: a request for very little is a request for something.
    exact = power >= 0 or millis % 10**-power == 0
    millis = millis * 10**power if power >= 0 else -(-millis // 10**-power)
    kept = exact and _is_kept(whole or "0", part, exponent=exponent, format=format)
    if format == "binary" and millis < MILLI:
        format = "decimal"
    return _Quantity(-millis if match["sign"] == "-" else millis, format, kept)


def _scale(match: re.Match[str]) -> tuple[int, Format]:
    if match["binary"]:
        return _BINARY[match["binary"]], "binary"
    if match["exponent"]:
        return int(match["exponent"]), "exponent"
    return _DECIMAL[match["decimal"] or ""], "decimal"


def _is_kept(whole: str, part: str, *, exponent: int, format: Format) -> bool:
    """Whether the server takes the text for canonical already and so never rewrites it.

    Its test is a quick one, made only where a 64-bit integer surely holds the value: `1E3` and
    `1.500` pass, `1024Mi`, `1000m` and `0.5` don't.
    """
    if format == "binary":
        fits = 15 - len(whole) - exponent * 3 // 10 - 1 >= 0
        return not part and fits and int(whole) % 8 != 0
    digits, scale = whole + part, exponent - len(part)
    return (
        len(digits) <= 18
        and scale >= -9
        and scale % 3 == 0
        and not digits.endswith("000")
        and digits[0] != "0"
    )


def _binary(whole: int) -> str:
    times = 0
    while whole % 1024 == 0:
        whole //= 1024
        times += 1
    return f"{whole}{['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'][times]}"


def _number(millis: int) -> Decimal:
    """Exact whatever the decimal context, and without an exponent in its text."""
    whole, rest = divmod(abs(millis), MILLI)
    text = f"{whole}.{rest:03}".rstrip("0").rstrip(".")
    return Decimal(f"-{text}" if millis < 0 else text)


def _rounded(number: Decimal, *, places: int) -> Decimal:
    with localcontext(prec=60):
        return number.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


def _short(number: Decimal, *, places: int) -> str:
    rounded = _rounded(number, places=places)
    if number and not rounded:
        return f"<{Decimal(1).scaleb(-places)}"
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
