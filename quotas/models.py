"""Requests, reviews, grants, and the use that clusters report."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from quotas.states import Status
from tenants.models import Cluster, Namespace, Team, User


class Amounts(models.Model):
    """The wish or the promise itself, as quantities in the API server's own writing.

    `amounts` is a ResourceQuota's `spec.hard`; `limit_default` and `limit_default_request` are a
    container's defaults in the LimitRange.
    """

    amounts = models.JSONField(_("amounts"))
    limit_default = models.JSONField(_("default limits"), default=dict)
    limit_default_request = models.JSONField(_("default requests"), default=dict)
    starts_at = models.DateTimeField(_("from"), null=True, blank=True)
    ends_at = models.DateTimeField(_("until"), null=True, blank=True)

    class Meta:
        abstract = True


class QuotaRequest(Amounts):
    """What a person asks for a team: a new namespace with these amounts.

    `version` grows with every edit; a decision names the version that was shown.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="requests")
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="requests")
    name = models.CharField(_("namespace"), max_length=63)
    reason = models.TextField(_("reason"))
    requester = models.ForeignKey(User, on_delete=models.PROTECT, related_name="requests")
    # Who wrote the version that stands; like the requester, not a second pair of eyes.
    editor = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=20, choices=Status.choices, default=Status.SUBMITTED)
    version = models.PositiveIntegerField(default=1)
    # What a tool named its submission, so that it may send it again, and a fingerprint of the wish.
    idempotency_key = models.CharField(max_length=255, blank=True)
    digest = models.CharField(max_length=64, blank=True)
    submitted_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.PROTECT, null=True, related_name="requests"
    )

    class Meta:
        ordering = ["-id"]
        constraints = [
            # A waiting request reserves its name.
            models.UniqueConstraint(
                fields=["cluster", "name"],
                condition=Q(status=Status.SUBMITTED),
                name="request_name_once_while_waiting",
            ),
            models.UniqueConstraint(
                fields=["requester", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="request_idempotency_key_once",
            ),
            models.CheckConstraint(
                condition=Q(ends_at=None) | Q(starts_at=None) | Q(ends_at__gt=F("starts_at")),
                name="request_ends_after_start",
            ),
        ]
        indexes = [models.Index(fields=["status", "submitted_at"])]

    def __str__(self) -> str:
        return f"#{self.pk} {self.name}"

    def get_absolute_url(self) -> str:
        return reverse("request", args=[self.pk])


class Review(models.Model):
    """One person's decision on one version of a request."""

    class Decision(models.TextChoices):
        APPROVE = "approve", _("approved")
        DENY = "deny", _("denied")

    request = models.ForeignKey(QuotaRequest, on_delete=models.PROTECT, related_name="reviews")
    reviewer = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    decision = models.CharField(max_length=10, choices=Decision.choices)
    version = models.PositiveIntegerField()
    comment = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.reviewer} {self.decision} {self.request}"


class Grant(Amounts):
    """What was allowed: these amounts for a namespace, from, until."""

    namespace = models.ForeignKey(Namespace, on_delete=models.PROTECT, related_name="grants")
    request = models.OneToOneField(QuotaRequest, on_delete=models.PROTECT, related_name="grant")
    created_at = models.DateTimeField(auto_now_add=True)
    superseded_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace"],
                condition=Q(superseded_at=None),
                name="grant_one_live_per_namespace",
            )
        ]

    def __str__(self) -> str:
        return f"grant of {self.request}"


class Usage(models.Model):
    """One ResourceQuota as a cluster reports it: `hard` and `used` of its status.

    Both are None until the cluster's quota controller has reported, which is not the same as zero.
    `changed_at` is when the watcher last saw the object change; the cluster's `watched_at` tells up
    to when that is known to be current.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="usage")
    namespace_name = models.CharField(max_length=63)
    quota_name = models.CharField(max_length=253)
    uid = models.CharField(max_length=63)
    # The quota's scopes and scope selector in one line; empty where it counts everything.
    scope = models.TextField(blank=True)
    spec_hard = models.JSONField(default=dict)
    hard = models.JSONField(null=True)
    used = models.JSONField(null=True)
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["cluster", "namespace_name", "quota_name"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "namespace_name", "quota_name"], name="usage_one_per_quota"
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace_name}/{self.quota_name}"
