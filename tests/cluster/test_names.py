"""Names of namespaces and groups, and values of labels."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.names import GroupError, check_group, check_namespace_name, label_value, subject

RESERVED = {"default"}
PREFIXES = {"kube-", "openshift-"}


def code(name: object) -> str:
    problem = check_namespace_name(name, reserved=RESERVED, reserved_prefixes=PREFIXES)
    assert problem is None or str(problem).isprintable()
    return problem.code if problem else ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("team-alpha", ""),
        ("a", ""),
        ("1", ""),
        ("a" * 63, ""),
        ("a--b", ""),
        ("defaults", ""),
        ("kubeflow", ""),
        ("a" * 64, "TooLong"),
        ("", "Missing"),
        (None, "Missing"),
        (7, "Missing"),
        ("team-alpha\n", "NotALabel"),
        (" team", "NotALabel"),
        ("Team", "NotALabel"),
        ("-a", "NotALabel"),
        ("a-", "NotALabel"),
        ("a.b", "NotALabel"),
        ("a_b", "NotALabel"),
        ("té", "NotALabel"),
        ("а", "NotALabel"),  # Cyrillic
        ("a\0b", "NotALabel"),
        ("٣", "NotALabel"),
        ("default", "Reserved"),
        ("kube-system", "Reserved"),
        ("kube-foo", "Reserved"),
        ("openshift-x", "Reserved"),
    ],
)
def test_namespace_name(name: object, expected: str) -> None:
    assert code(name) == expected


NFC, NFD = (unicodedata.normalize(form, "équipe") for form in ("NFC", "NFD"))


@pytest.mark.parametrize(
    "name",
    [
        "data-science-alpha",
        "ML-Team",
        "ml team",
        "a:b",
        "team@corp",
        NFC,
        NFD,
        "mаl",
        "systems:x",
        "oidc:x",
        "/org/team",
        "my system:x",
    ],
)
def test_groups_are_kept_byte_for_byte(name: str) -> None:
    assert check_group(name) is None
    assert subject("", name) == name
    assert subject("oidc:", name) in (name, f"oidc:{name}")


def test_look_alikes_stay_apart() -> None:
    assert subject("", NFC) != subject("", NFD)
    assert subject("", "ML-Team") != subject("", "ml-team")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", "Missing"),
        (None, "Missing"),
        (5, "Missing"),
        (" a", "OuterSpace"),
        ("a ", "OuterSpace"),
        ("a\u00a0", "OuterSpace"),
        ("\u200ba", "OuterSpace"),
        ("\ufeffa", "OuterSpace"),
        ("a\tb", "ControlCharacter"),
        ("a\n", "ControlCharacter"),
        ("a\0", "ControlCharacter"),
        ("a\u2028b", "ControlCharacter"),
        ("a\ud800", "ControlCharacter"),
        ("system:masters", "Reserved"),
        ("system:authenticated", "Reserved"),
        ("system:unauthenticated", "Reserved"),
        ("system:serviceaccounts", "Reserved"),
        ("System:Masters", "Reserved"),
        ("SYSTEM:masters", "Reserved"),
        ("system :masters", "Reserved"),
        ("sys\u200btem:masters", "Reserved"),
        ("ｓｙｓｔｅｍ：masters", "Reserved"),
        ("ſystem:masters", "Reserved"),
        (" system:masters", "OuterSpace"),
        ("system:masters ", "OuterSpace"),
    ],
)
def test_groups_not_to_be_bound(name: object, expected: str) -> None:
    problem = check_group(name)
    assert problem is not None
    assert problem.code == expected
    assert str(problem).isprintable()


@pytest.mark.parametrize(
    ("prefix", "group", "final"),
    [
        ("", "ml-team", "ml-team"),
        ("oidc:", "ml-team", "oidc:ml-team"),
        ("oidc:", "oidc:ml-team", "oidc:ml-team"),
        ("oidc:", "OIDC:ml-team", "oidc:OIDC:ml-team"),
    ],
)
def test_prefix_is_put_once(prefix: str, group: str, final: str) -> None:
    assert subject(prefix, group) == final
    assert subject(prefix, final) == final


@pytest.mark.parametrize(
    ("prefix", "group"),
    [
        ("", "system:masters"),
        ("oidc:", "system:masters"),
        ("oidc:", "oidc:system:masters"),
        ("oidc:", "oidc: system:masters"),
        ("system:", "masters"),
        ("sys", "tem:masters"),
        ("oidc:", "oidc:"),
        ("oidc:", ""),
    ],
)
def test_prefix_does_not_smuggle(prefix: str, group: str) -> None:
    with pytest.raises(GroupError):
        subject(prefix, group)


@given(st.text())
def test_label_values_are_legal(text: str) -> None:
    value = label_value(text)
    assert len(value) <= 63
    assert re.fullmatch(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", value)
    assert label_value(value) == value


def test_label_values_stay_apart() -> None:
    assert label_value("team-alpha") == "team-alpha"
    assert label_value("a" * 63) == "a" * 63
    values = {label_value(text) for text in ("a b", "a_b", "a/b", "é", "è", "a" * 64, "a" * 65)}
    assert len(values) == 7
    assert label_value("data science/alpha").startswith("data-science-alpha-")
