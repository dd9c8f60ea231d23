"""What stands in the demo's database: people, teams, a cluster, requests and decisions.

`python -m dev.seed KUBECONFIG ISSUER` brings the database up to date first. It may be run again:
what stands is left as it is. Everything goes through the services, as if the people had done it.
"""

import argparse
from datetime import timedelta

import django
from django.core.management import call_command
from django.utils import timezone

from dev import people
from dev.people import EVERYBODY, Person

CLUSTER = "demo"
# None; all waiting, for whoever tries the demo to decide; or most of them decided.
REQUESTS = ("none", "waiting", "decided")
# The amounts of an ordinary team's namespace.
ORDINARY = {
    "requests.cpu": "20",
    "requests.memory": "100Gi",
    "limits.cpu": "40",
    "limits.memory": "200Gi",
    "requests.nvidia.com/gpu": "4",
    "pods": "10",
}
LARGE = {
    "requests.cpu": "64",
    "requests.memory": "512Gi",
    "limits.cpu": "128",
    "limits.memory": "1Ti",
    "requests.nvidia.com/gpu": "12",
    "pods": "30",
}
SLICES = {
    "requests.cpu": "8",
    "requests.memory": "64Gi",
    "limits.cpu": "16",
    "limits.memory": "128Gi",
    "requests.nvidia.com/mig-1g.10gb": "7",
    "pods": "8",
}
DEFAULTS = {"cpu": "1", "memory": "2Gi"}
DEFAULT_REQUESTS = {"cpu": "500m", "memory": "1Gi"}
TEAMS = (
    ("alpha", "Data Science Alpha", people.ALPHA_LEADS, people.ALPHA),
    ("beta", "Data Science Beta", people.BETA_LEADS, people.BETA),
    ("platform", "ML Platform", people.ADMINS, people.ADMINS),
)


def seed(*, kubeconfig: str, issuer: str, requests: str) -> None:
    """Make the demo's rows; `requests` is one of REQUESTS."""
    from quotas.checks import Wish
    from quotas.models import QuotaRequest
    from quotas.services import request_approve, request_deny, request_submit
    from quotas.states import Status
    from tenants.models import Cluster, Team, TeamGroup, User
    from tenants.services import cluster_save, team_save, user_sign_in

    subjects = [person.subject for person in EVERYBODY]
    # The provider may have had to move to another port; the people are still the same.
    User.objects.filter(subject__in=subjects).exclude(issuer=issuer).update(issuer=issuer)

    def user(person: Person) -> User:
        return user_sign_in(
            issuer=issuer,
            subject=person.subject,
            name=person.name,
            email=person.email,
            groups=person.groups,
        )

    for person in EVERYBODY:
        user(person)
    cluster = Cluster.objects.filter(slug=CLUSTER).first() or Cluster(
        slug=CLUSTER, name="Demo cluster"
    )
    cluster.kubeconfig = kubeconfig
    cluster_save(actor=None, cluster=cluster)
    teams = {}
    for slug, name, leads, members in TEAMS:
        groups = [(TeamGroup.Role.LEAD, leads), (TeamGroup.Role.MEMBER, members)]
        found = Team.objects.filter(slug=slug).first()
        teams[slug] = found or team_save(actor=None, team=Team(slug=slug, name=name), groups=groups)
    if requests == "none":
        return
    decided = requests == "decided"

    def ask(
        who: Person, team: str, name: str, amounts: dict[str, str], reason: str
    ) -> QuotaRequest:
        return QuotaRequest.objects.filter(cluster=cluster, name=name).first() or request_submit(
            actor=user(who),
            wish=Wish(
                team=teams[team],
                cluster=cluster,
                name=name,
                amounts=amounts,
                limit_default=DEFAULTS,
                limit_default_request=DEFAULT_REQUESTS,
                starts_at=None,
                ends_at=timezone.now() + timedelta(days=180),
                reason=reason,
            ),
        )

    waiting = [
        (people.ALPHA_LEAD, "alpha", "team-alpha", ORDINARY, "Fine-tuning of the ranking models."),
        (people.BETA_LEAD, "beta", "team-beta", ORDINARY, "Speech recognition, first experiments."),
        (people.ADMIN, "platform", "prod", LARGE, "Serving and nightly training for all teams."),
    ]
    for (who, team, name, amounts, reason), by in zip(
        waiting, (people.APPROVER, people.SECOND_APPROVER, people.APPROVER), strict=True
    ):
        request = ask(who, team, name, amounts, reason)
        if decided and request.status == Status.SUBMITTED:
            request_approve(actor=user(by), request=request, version=request.version)
    ask(people.BETA_LEAD, "beta", "beta-slices", SLICES, "Notebooks for the summer school.")
    request = ask(people.ALPHA_LEAD, "alpha", "alpha-scratch", LARGE, "To try things out.")
    if decided and request.status == Status.SUBMITTED:
        comment = "A dozen GPUs to try things out? Please ask for four, and say what for."
        request_deny(
            actor=user(people.APPROVER), request=request, version=request.version, comment=comment
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kubeconfig")
    parser.add_argument("issuer")
    parser.add_argument("--requests", choices=REQUESTS, default="decided")
    arguments = parser.parse_args()
    django.setup()
    # Here and not in a process of its own, since loading Django takes longer than this.
    call_command("migrate", verbosity=0)
    seed(**vars(arguments))
