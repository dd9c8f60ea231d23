"""Builders of rows for tests. What a test does not name is sensible and unique."""

import factory
from django.utils import timezone

from quotas import models as quotas
from quotas.states import Status
from tenants import models as tenants

ISSUER = "https://idp.example/realm"
# The amounts of the seed's quota.
AMOUNTS = {
    "requests.cpu": "20",
    "requests.memory": "100Gi",
    "limits.cpu": "40",
    "limits.memory": "200Gi",
    "requests.nvidia.com/gpu": "4",
    "pods": "10",
}
LIMIT_DEFAULT = {"cpu": "1", "memory": "1Gi"}
LIMIT_DEFAULT_REQUEST = {"cpu": "500m", "memory": "512Mi"}
# Amounts that stand in no other's way: nothing requested, limits as high as they may be.
ROOM = {
    "requests.cpu": "0",
    "requests.memory": "0",
    "limits.cpu": "5120",
    "limits.memory": "40960Gi",
    "pods": "0",
}
ALLOCATABLE = {"cpu": "512", "memory": "4096Gi", "pods": "880", "nvidia.com/gpu": "32"}


class UserFactory(factory.django.DjangoModelFactory):
    """Somebody in no group. `groups=None` is somebody of whom the provider did not say."""

    class Meta:
        model = tenants.User

    issuer = ISSUER
    subject = factory.Sequence(lambda n: f"subject-{n}")
    name = factory.Faker("name")
    email = factory.LazyAttribute(lambda user: f"{user.subject}@example.org")
    groups = factory.LazyFunction(list)


class TeamFactory(factory.django.DjangoModelFactory):
    """A team with the groups `<slug>` (members) and `<slug>-leads`; `groups=False` for none."""

    class Meta:
        model = tenants.Team
        skip_postgeneration_save = True

    slug = factory.Sequence(lambda n: f"team-{n}")
    name = factory.LazyAttribute(lambda team: team.slug.title())

    @factory.post_generation
    def groups(self, create, wanted, **kwargs):
        if wanted is not False:
            TeamGroupFactory(team=self, name=self.slug, role=tenants.TeamGroup.Role.MEMBER)
            TeamGroupFactory(team=self, name=f"{self.slug}-leads", role=tenants.TeamGroup.Role.LEAD)


class TeamGroupFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = tenants.TeamGroup

    team = factory.SubFactory(TeamFactory, groups=False)
    name = factory.Sequence(lambda n: f"group-{n}")
    role = tenants.TeamGroup.Role.MEMBER


class ClusterFactory(factory.django.DjangoModelFactory):
    """A cluster that the watcher has just seen, with room for several of AMOUNTS."""

    class Meta:
        model = tenants.Cluster

    slug = factory.Sequence(lambda n: f"cluster-{n}")
    name = factory.LazyAttribute(lambda cluster: cluster.slug.title())
    kubeconfig = "/nowhere/kubeconfig"
    allocatable = factory.LazyFunction(lambda: dict(ALLOCATABLE))
    watched_at = factory.LazyFunction(timezone.now)


class NamespaceFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = tenants.Namespace

    cluster = factory.SubFactory(ClusterFactory)
    team = factory.SubFactory(TeamFactory)
    name = factory.Sequence(lambda n: f"namespace-{n}")


class QuotaRequestFactory(factory.django.DjangoModelFactory):
    """A request that waits, by a lead of its team."""

    class Meta:
        model = quotas.QuotaRequest

    team = factory.SubFactory(TeamFactory)
    cluster = factory.SubFactory(ClusterFactory)
    name = factory.Sequence(lambda n: f"wanted-{n}")
    reason = "Training."
    amounts = factory.LazyFunction(lambda: dict(AMOUNTS))
    limit_default = factory.LazyFunction(lambda: dict(LIMIT_DEFAULT))
    limit_default_request = factory.LazyFunction(lambda: dict(LIMIT_DEFAULT_REQUEST))
    requester = factory.LazyAttribute(lambda request: lead_of(request.team))
    editor = factory.SelfAttribute("requester")


class GrantFactory(factory.django.DjangoModelFactory):
    """What was allowed for a namespace, with the approved request behind it."""

    class Meta:
        model = quotas.Grant

    namespace = factory.SubFactory(NamespaceFactory)
    request = factory.SubFactory(
        QuotaRequestFactory,
        namespace=factory.SelfAttribute("..namespace"),
        team=factory.SelfAttribute("namespace.team"),
        cluster=factory.SelfAttribute("namespace.cluster"),
        name=factory.SelfAttribute("namespace.name"),
        status=Status.APPROVED,
        decided_at=factory.LazyFunction(timezone.now),
    )
    amounts = factory.SelfAttribute("request.amounts")
    limit_default = factory.SelfAttribute("request.limit_default")
    limit_default_request = factory.SelfAttribute("request.limit_default_request")


class UsageFactory(factory.django.DjangoModelFactory):
    """A quota of AMOUNTS of which the cluster reports nothing used."""

    class Meta:
        model = quotas.Usage

    cluster = factory.SubFactory(ClusterFactory)
    namespace_name = factory.Sequence(lambda n: f"namespace-{n}")
    quota_name = "dev-quota"
    uid = factory.Faker("uuid4")
    spec_hard = factory.LazyFunction(lambda: dict(AMOUNTS))
    hard = factory.LazyAttribute(lambda usage: dict(usage.spec_hard))
    used = factory.LazyAttribute(lambda usage: dict.fromkeys(usage.spec_hard, "0"))
    changed_at = factory.LazyFunction(timezone.now)


def lead_of(team, **columns):
    """Somebody who may ask for this team."""
    return UserFactory(groups=[_group(team, tenants.TeamGroup.Role.LEAD)], **columns)


def member_of(team, **columns):
    """Somebody who works for this team."""
    return UserFactory(groups=[_group(team, tenants.TeamGroup.Role.MEMBER)], **columns)


def approver(**columns):
    """Somebody who decides on requests."""
    return UserFactory(groups=["berth-approvers"], **columns)


def admin(**columns):
    """Somebody who registers teams and clusters."""
    return UserFactory(groups=["berth-admins"], **columns)


def auditor(**columns):
    """Somebody who may read everything."""
    return UserFactory(groups=["berth-auditors"], **columns)


def _group(team, role):
    return team.team_groups.filter(role=role).values_list("name", flat=True)[0]
