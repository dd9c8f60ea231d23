"""Users, teams, clusters, namespaces, and the history of all of them."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from cluster.names import check_group
from tenants.problems import sentence


class UserManager(BaseUserManager["User"]):
    """Users come from the identity provider only; there is no password to create one with."""

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(pk=username)  # type: ignore[misc]


class User(AbstractBaseUser):
    """A person or a machine as the identity provider names it: an issuer and a subject.

    E-mail and name are for display and change at every sign-in. `groups` is what the provider said
    last; None means that it did not say (no claim, or too many groups to list), which is not the
    same as being in none. Source of the key: OpenID Connect Core 1.0, section 5.7.
    """

    id: models.UUIDField[uuid.UUID, uuid.UUID] = models.UUIDField(
        primary_key=True, default=uuid.uuid4, editable=False
    )
    password: None = None  # type: ignore[assignment]
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    name = models.CharField(max_length=255, blank=True)
    email = models.CharField(max_length=320, blank=True)
    groups = ArrayField(models.TextField(), null=True, blank=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    USERNAME_FIELD = "id"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="user_issuer_subject")
        ]

    def __str__(self) -> str:
        return self.name or self.email or self.subject

    def get_full_name(self) -> str:
        return str(self)

    def get_short_name(self) -> str:
        return str(self)

    def has_usable_password(self) -> bool:
        return False


class Team(models.Model):
    """Owns namespaces; its people are those of its IdP groups."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(_("short name"), max_length=63, unique=True)
    name = models.CharField(_("name"), max_length=200)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TeamGroup(models.Model):
    """One IdP group of a team: leads ask for quota, members work in the namespaces.

    The name is kept byte for byte as the provider sends it, since RBAC compares it so.
    """

    class Role(models.TextChoices):
        LEAD = "lead", _("leads")
        MEMBER = "member", _("members")

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="team_groups")
    name = models.TextField(_("IdP group"))
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)

    class Meta:
        ordering = ["role", "name"]
        constraints = [
            models.UniqueConstraint(fields=["team", "name", "role"], name="team_group_once")
        ]
        indexes = [models.Index(fields=["name"])]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if problem := check_group(self.name):
            raise ValidationError({"name": sentence(problem)})


class Cluster(models.Model):
    """A Kubernetes cluster and how Berth reaches it.

    Credentials themselves are never in the database: `kubeconfig` is the path of a file that the
    processes can read; empty means the service account of the pod that Berth runs in.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(_("short name"), max_length=63, unique=True)
    name = models.CharField(_("name"), max_length=200)
    kubeconfig = models.CharField(_("kubeconfig file"), max_length=500, blank=True)
    context = models.CharField(_("kubeconfig context"), max_length=200, blank=True)
    strict_certificates = models.BooleanField(_("strict certificate check"), default=True)
    group_prefix = models.CharField(
        _("group prefix"),
        max_length=63,
        blank=True,
        help_text=_("What the API server puts before a group of the identity provider."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)

    # What the watcher saw. None: never.
    allocatable = models.JSONField(null=True, editable=False)
    watched_at = models.DateTimeField(null=True, editable=False)
    lost_since = models.DateTimeField(null=True, editable=False)
    lost_message = models.TextField(blank=True, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        # Whatever group follows: the prefix alone must not make it one of Kubernetes' own.
        if problem := check_group(f"{self.group_prefix}x"):
            raise ValidationError({"group_prefix": sentence(problem)})


class Namespace(models.Model):
    """One namespace on one cluster, owned by a team.

    `generation` counts the changes of what should stand, `observed_generation` is the last one
    that the cluster was brought to. `uid` is the live object's, empty until it was made: a
    namespace of the same name with another uid is somebody else's.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="namespaces")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="namespaces")
    name = models.CharField(max_length=63)
    uid = models.CharField(max_length=63, blank=True)
    generation = models.BigIntegerField(default=1)
    observed_generation = models.BigIntegerField(default=0)
    conditions = models.JSONField(default=list)
    # When the sweep should look again although nothing changed; None: no need.
    reconcile_at = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    released_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "name"],
                condition=Q(released_at=None),
                name="namespace_name_once_per_cluster",
            )
        ]
        indexes = [
            models.Index(fields=["reconcile_at"]),
            models.Index(
                fields=["id"],
                condition=Q(observed_generation__lt=models.F("generation")),
                name="namespace_behind",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("namespace", args=[self.cluster.slug, self.name])


class Transition(models.Model):
    """One line of the history. The database refuses to change or delete one.

    `subject_type` and `subject_id` say what changed ("request", "12"). `actor` is None where Berth
    itself acted. `data` holds what a reader needs to understand the line later, such as the amounts
    that were approved.
    """

    at = models.DateTimeField(db_default=Now())
    subject_type = models.CharField(max_length=20)
    subject_id = models.CharField(max_length=40)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    namespace = models.ForeignKey(Namespace, on_delete=models.PROTECT, null=True, related_name="+")
    action = models.CharField(max_length=40)
    from_state = models.CharField(max_length=20, blank=True)
    to_state = models.CharField(max_length=20, blank=True)
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    reason = models.TextField(blank=True)
    data = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["subject_type", "subject_id"]),
        ]

    def __str__(self) -> str:
        return f"{self.subject_type} {self.subject_id}: {self.action}"
