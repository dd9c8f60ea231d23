"""The parser against the API server's table and against arithmetic of its own kind."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cluster.quantities import CEILING, QuantityError, canonical, human, parse, same

# Text, its number, and what the API server keeps.
KEPT = [
    ("1.5Gi", "1610612736", "1536Mi"),
    ("1.2Gi", "1288490188.8", "1288490188800m"),
    ("0.1Ki", "102.4", "102400m"),
    (".5Gi", "536870912", "512Mi"),
    ("1024Mi", "1073741824", "1Gi"),
    ("1000m", "1", "1"),
    ("100m", "0.1", "100m"),
    ("1e3", "1000", "1e3"),
    ("1E3", "1000", "1E3"),
    ("129e6", "129000000", "129e6"),
    ("1E", "1000000000000000000", "1E"),
    ("1000P", "1000000000000000000", "1E"),
    ("1E-3", "0.001", "1E-3"),
    ("1k", "1000", "1k"),
    ("512m", "0.512", "512m"),
    ("-5", "-5", "-5"),
    ("-0", "0", "0"),
    ("5.", "5", "5."),
    ("0.1n", "0.001", "1m"),
    ("-0.1n", "-0.001", "-1m"),
    ("1e-400", "0.001", "1e-3"),
    ("1.0000000011", "1.001", "1001m"),
    ("1500u", "0.002", "2m"),
    ("1.500", "1.5", "1.500"),
    ("1.23456Gi", "1325598706.238", "1325598706238m"),
    ("0e999", "0", "0"),
    ("9223372036854775807", "9223372036854775807", "9223372036854775807"),
    ("7Ei", "8070450532247928832", "7Ei"),
]

REFUSED = [
    *("1K", "1ki", "1mi", "20gi", "1e3Ki", "1_000", "5 Gi", " 5Gi", "5Gi ", "5Gi\n", "٥Gi"),
    *("NaN", "nan", "Infinity", "-Infinity", "inf", "", "Gi", "k", "E", "-", "+", ".", "-.", ".Gi"),
    *("1GiB", "1GB", "1e", "1e+", "1e1.5", "1e1e1", "1ee1", "0x10", "1,5", "1.2.3", "--1", "+-1"),
    *("1i", "1Kim", "1mi", "½", "1²", "１", "1\0", "1e9999999999", "5 ", "5\u00a0Gi", "1" * 200),
]

TOO_LARGE = ["8Ei", "16Ei", "1000E", "2000E", "9223372036854775808", "-8Ei", "1e19", "1e999"]

numbers = st.from_regex(r"[+-]?([0-9]{1,9}(\.[0-9]{0,12})?|\.[0-9]{1,12})", fullmatch=True)
suffixes = st.sampled_from(
    ["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e0", "e3", "E-3", "e-9", "E+5", "e1"]
)
quantities = st.builds(str.__add__, numbers, suffixes)


@pytest.mark.parametrize(("text", "number", "kept"), KEPT)
def test_number_and_kept_form(text: str, number: str, kept: str) -> None:
    assert parse(text) == Decimal(number)
    assert canonical(text) == kept


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse(text)
    assert caught.value.problem.code == "NotAQuantity"
    assert str(caught.value).isprintable()
    assert not same(text, text)


@pytest.mark.parametrize("text", TOO_LARGE)
def test_larger_than_the_server_can_hold(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse(text)
    assert caught.value.problem.code == "TooLarge"


@pytest.mark.parametrize("value", [True, False, 1, 0.1, None, b"1", Decimal(1), ["1"]])
def test_only_text_is_a_quantity(value: object) -> None:
    with pytest.raises(QuantityError) as caught:
        parse(value)
    assert caught.value.problem.code == "NotText"


def test_compares_by_number() -> None:
    assert same("1E", "1000P")
    assert same("1e3", "1k")
    assert same("1288490188800m", "1.2Gi")
    assert not same("512m", "512M")
    # Somebody else may have written what we would not.
    assert same("16Ei", "16384Pi")


def independent(text: str) -> Fraction:
    """The same number by exact fractions and a table, rounded up in size to thousandths."""
    suffix = text.lstrip("+-0123456789.")
    mantissa = Fraction(text.removesuffix(suffix).rstrip(".") or "0")
    if suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix != "Ei":
        factor = Fraction(10) ** int(suffix[1:])
    elif suffix.endswith("i"):
        factor = Fraction(1024) ** (1 + "KMGTPE".index(suffix[0]))
    elif suffix in ("n", "u", "m"):
        factor = Fraction(1, 1000 ** (1 + "mun".index(suffix)))
    else:
        factor = Fraction(1000) ** (" kMGTPE".index(suffix) if suffix else 0)
    millis = abs(mantissa * factor) * 1000
    return (-1 if mantissa < 0 else 1) * Fraction(-(-millis // 1), 1000)


@given(quantities)
def test_arithmetic(text: str) -> None:
    expected = independent(text)
    if abs(expected) > CEILING:
        with pytest.raises(QuantityError):
            parse(text)
    else:
        assert Fraction(parse(text)) == expected


@given(quantities)
def test_kept_form_means_the_same_and_stays(text: str) -> None:
    assume(abs(independent(text)) <= CEILING)
    kept = canonical(text)
    assert parse(kept) == parse(text)
    assert same(kept, text)
    assert canonical(kept) == kept


@given(quantities)
def test_number_as_text_is_a_quantity_again(text: str) -> None:
    assume(abs(independent(text)) <= CEILING)
    assert parse(str(parse(text))) == parse(text)


@given(quantities, quantities)
def test_order(a: str, b: str) -> None:
    assume(max(abs(independent(a)), abs(independent(b))) <= CEILING)
    assert (parse(a) < parse(b)) == (independent(a) < independent(b))
    assert same(a, b) == (independent(a) == independent(b))


@given(st.text(max_size=20))
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    try:
        number = parse(text)
    except QuantityError:
        return
    assert number.is_finite()
    assert text.isascii()


@pytest.mark.parametrize(
    ("resource", "text", "shown"),
    [
        ("requests.memory", "1288490188800m", "1.2 GiB"),
        ("limits.memory", "200Gi", "200 GiB"),
        ("memory", "1023.99Mi", "1 GiB"),
        ("requests.storage", "500k", "488.3 KiB"),
        ("requests.memory", "0", "0 B"),
        ("memory", "512m", "0.5 B"),
        ("requests.cpu", "20", "20"),
        ("requests.cpu", "500m", "0.5"),
        ("requests.cpu", "1u", "0.001"),
        ("pods", "5k", "5000"),
        ("requests.nvidia.com/gpu", "4", "4"),
        ("pods", "100", "100"),
    ],
)
def test_human(resource: str, text: str, shown: str) -> None:
    assert human(resource, text) == shown
    assert human(resource, parse(text)) == shown
