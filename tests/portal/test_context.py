"""What every page may show."""

import pytest
from django.contrib.auth.models import AnonymousUser

from portal.context import site
from tenants.models import Team, TeamGroup, User

pytestmark = pytest.mark.django_db


@pytest.fixture
def seen(rf):
    def seen(user):
        request = rf.get("/")
        request.user = user
        return site(request)["site"]

    return seen


def test_roles_and_leadership_follow_groups(seen):
    team = Team.objects.create(slug="alpha", name="Alpha")
    TeamGroup.objects.create(team=team, name="leads", role=TeamGroup.Role.LEAD)
    TeamGroup.objects.create(team=team, name="members", role=TeamGroup.Role.MEMBER)
    for groups, roles, leads in [
        (["berth-approvers", "leads"], {"approver"}, True),
        (["berth-admins", "berth-auditors", "members"], {"admin", "auditor"}, False),
        ([], set(), False),
        (None, set(), False),
    ]:
        shown = seen(User(issuer="i", subject="s", groups=groups))
        assert (shown.roles, shown.leads) == (roles, leads)


def test_a_stranger_has_nothing(seen, django_assert_num_queries):
    with django_assert_num_queries(0):
        shown = seen(AnonymousUser())
        assert (shown.roles, shown.leads, shown.progress) == (frozenset(), False, None)


def test_a_request_that_never_got_a_user(rf):
    assert not site(rf.get("/"))["site"].leads


def test_it_costs_one_query_at_most(seen, django_assert_num_queries):
    shown = seen(User(issuer="i", subject="s", groups=["leads"]))
    with django_assert_num_queries(1):
        assert [shown.leads, shown.leads, shown.roles] == [False, False, frozenset()]


@pytest.mark.parametrize(
    ("content", "progress"),
    [('{"fraction": 0.5}', {"fraction": 0.5}), ('{"frac', None), ("[]", None), (None, None)],
)
def test_progress_of_the_demo(seen, settings, tmp_path, content, progress):
    file = tmp_path / "progress.json"
    settings.BERTH_PROGRESS_FILE = str(file)
    if content is not None:
        file.write_text(content)
    assert seen(AnonymousUser()).progress == progress
