"""Groups of every shape that providers send."""

import logging

import pytest

from portal.signin.claims import groups_of, is_subject, person_of


@pytest.mark.parametrize(
    ("claims", "groups"),
    [
        ({"groups": ["ml-team", "alpha"]}, ["ml-team", "alpha"]),
        ({"groups": "abcd"}, ["abcd"]),
        ({"groups": "a b,c"}, ["a b,c"]),
        ({"groups": []}, []),
        ({"groups": ""}, []),
        ({"groups": ["", "alpha"]}, ["alpha"]),
        ({"groups": ["Ärzte", "/alpha/leads"]}, ["Ärzte", "/alpha/leads"]),
        ({}, None),
        ({"groups": None}, None),
        ({"groups": {"alpha": True}}, None),
        ({"groups": 7}, None),
        ({"groups": True}, None),
        ({"groups": ["alpha", 7]}, None),
        ({"groups": ["alpha", None]}, None),
        ({"groups": [["alpha"]]}, None),
        ({"groups": ["alpha\x00"]}, None),
        ({"groups": ["alpha\ud800"]}, None),
        ({"_claim_names": {"groups": "src1"}, "_claim_sources": {}}, None),
        ({"_claim_names": {"address": "src1"}, "groups": ["alpha"]}, ["alpha"]),
        ({"hasgroups": True}, None),
    ],
)
def test_groups_of_every_shape(claims, groups):
    assert groups_of(claims, claim="groups") == groups


@pytest.mark.parametrize(
    "claims",
    [
        {"groups": 7},
        {"groups": ["secret-team", 7]},
        {"groups": {"secret-team": 1}},
        {"groups": ["secret-team\x00"]},
        {"groups": ["secret-team"], "hasgroups": True},
    ],
)
def test_refused_groups_leave_a_reason_without_their_content(claims, caplog):
    with caplog.at_level(logging.WARNING):
        assert groups_of(claims, claim="groups") is None
    assert "groups unknown" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("claims", "groups"),
    [
        ({"realm_access": {"roles": ["alpha"]}}, ["alpha"]),
        ({"realm_access": {"roles": []}}, []),
        ({"realm_access": {}}, None),
        ({"realm_access": ["roles"]}, None),
        ({"realm_access": "roles"}, None),
        ({"realm_access.roles": ["flat"]}, ["flat"]),
    ],
)
def test_groups_at_a_path(claims, groups):
    assert groups_of(claims, claim="realm_access.roles") == groups


def test_a_claim_named_like_an_address():
    claim = "https://example.org/groups"
    assert groups_of({claim: ["alpha"]}, claim=claim) == ["alpha"]


@pytest.mark.parametrize(
    ("first", "second", "groups"),
    [
        ({"groups": ["token"]}, {"groups": ["userinfo"]}, ["token"]),
        ({"groups": []}, {"groups": ["userinfo"]}, []),
        ({}, {"groups": ["userinfo"]}, ["userinfo"]),
        ({"hasgroups": True}, {"groups": ["userinfo"]}, ["userinfo"]),
        ({"groups": 7}, {"groups": ["userinfo"]}, None),
        ({}, {}, None),
    ],
)
def test_the_id_token_is_looked_at_before_userinfo(first, second, groups):
    assert groups_of(first, second, claim="groups") == groups


@pytest.mark.parametrize("value", ["", "x" * 256, "a\x00", "a\ud800", 7, None, ["a"]])
def test_what_is_no_subject(value):
    assert not is_subject(value)


def test_odd_names_are_left_out():
    claims = {"sub": "ada", "name": 7, "preferred_username": "ada", "email": ["x"]}
    person = person_of(claims, {"email": "ada@example.org"}, groups_claim="groups")
    assert (person.name, person.email, person.groups) == ("ada", "ada@example.org", None)
