"""Which topics of a stream a person may follow, whatever the page asked for."""

import pytest

from quotas.stream import topics_allowed
from tests.factories import (
    ClusterFactory,
    NamespaceFactory,
    QuotaRequestFactory,
    TeamFactory,
    UserFactory,
    auditor,
    member_of,
)

pytestmark = pytest.mark.django_db


def test_own_topics_are_followed_and_others_say_nothing():
    asked = QuotaRequestFactory()
    namespace = NamespaceFactory(team=asked.team)
    topics = {f"request:{asked.pk}", f"namespace:{namespace.pk}", f"team:{asked.team.pk}"}
    for person in (member_of(asked.team), auditor()):
        assert topics_allowed(person, topics) == topics
    for person in (member_of(TeamFactory()), UserFactory(groups=None)):
        assert topics_allowed(person, topics) == set()


@pytest.mark.parametrize("kind", ["request", "namespace", "team", "cluster", "nothing"])
@pytest.mark.parametrize(
    "key",
    [
        "",
        "x",
        "-1",
        "1.0",
        "²",
        "٣",
        "9" * 30,
        "9" * 5000,
        "a" * 5000,
        "namespace:x",
        "a\nevent: b",
    ],
)
def test_a_topic_that_cannot_be_is_left_out(kind, key):
    assert topics_allowed(auditor(), [f"{kind}:{key}"]) == set()


def test_everybody_follows_the_clusters_that_are_in_use():
    used, off = ClusterFactory(), ClusterFactory(enabled=False)
    topics = {f"cluster:{used.slug}", f"cluster:{off.slug}"}
    assert topics_allowed(UserFactory(), topics) == {f"cluster:{used.slug}"}
    assert topics_allowed(auditor(), topics) == topics
