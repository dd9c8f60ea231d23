"""Every kind of person against every action, as one table for services, API and pages."""

from dataclasses import dataclass

from quotas.states import Action
from tests.factories import QuotaRequestFactory, TeamFactory, UserFactory, lead_of

ASK = frozenset({Action.SUBMIT, Action.EDIT, Action.WITHDRAW})
DECIDE = frozenset({Action.APPROVE, Action.DENY})
NOTHING = frozenset()
APPROVERS = "berth-approvers"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of person: the groups, what they are to the request, and what follows.

    In `groups` stands "lead" or "member" for the team's own group of that role, "other" for the
    leads of another team; None is a person whose groups the provider did not tell.
    """

    name: str
    groups: tuple[str, ...] | None
    asked: bool = False
    edited: bool = False
    active: bool = True
    sees: bool
    may: frozenset[Action]

    def meet(self):
        """This person and a waiting request of the team."""
        team = TeamFactory()
        meaning = {
            "lead": f"{team.slug}-leads",
            "member": team.slug,
            "other": f"{TeamFactory().slug}-leads",
        }
        groups = self.groups and [meaning.get(group, group) for group in self.groups]
        person = UserFactory(groups=groups, is_active=self.active)
        someone = lead_of(team)
        request = QuotaRequestFactory(
            team=team,
            requester=person if self.asked else someone,
            editor=person if self.asked or self.edited else someone,
        )
        return person, request


PEOPLE = [
    Kind(name="lead", groups=("lead",), sees=True, may=ASK),
    Kind(name="lead who asked", groups=("lead",), asked=True, sees=True, may=ASK),
    Kind(name="member", groups=("member",), sees=True, may=NOTHING),
    Kind(name="lead of another team", groups=("other",), sees=False, may=NOTHING),
    Kind(name="approver", groups=(APPROVERS,), sees=True, may=DECIDE),
    Kind(name="approver who asked", groups=(APPROVERS,), asked=True, sees=True, may=NOTHING),
    Kind(name="approver who edited", groups=(APPROVERS,), edited=True, sees=True, may=NOTHING),
    Kind(name="lead and approver", groups=("lead", APPROVERS), sees=True, may=ASK | DECIDE),
    Kind(
        name="lead and approver who asked",
        groups=("lead", APPROVERS),
        asked=True,
        sees=True,
        may=ASK,
    ),
    Kind(
        name="lead and approver who edited",
        groups=("lead", APPROVERS),
        edited=True,
        sees=True,
        may=ASK,
    ),
    Kind(name="admin", groups=("berth-admins",), sees=True, may=NOTHING),
    Kind(name="auditor", groups=("berth-auditors",), sees=True, may=NOTHING),
    Kind(name="outsider", groups=(), sees=False, may=NOTHING),
    Kind(name="outsider who asked once", groups=(), asked=True, sees=False, may=NOTHING),
    Kind(name="groups unknown", groups=None, sees=False, may=NOTHING),
    Kind(name="groups unknown, who asked", groups=None, asked=True, sees=False, may=NOTHING),
    Kind(
        name="inactive lead and approver",
        groups=("lead", APPROVERS),
        active=False,
        sees=False,
        may=NOTHING,
    ),
]
EVERY_PAIR = [(kind, action) for kind in PEOPLE for action in Action]


def pair_id(value):
    """The table's rows as names of tests."""
    return value.name if isinstance(value, Kind) else str(value)
