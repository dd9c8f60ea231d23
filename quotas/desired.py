"""What should stand in the cluster for a namespace, from what people decided. Pure."""

from collections.abc import Collection
from datetime import datetime

from django.conf import settings

from cluster.amounts import is_extended
from cluster.names import label_value, subject
from cluster.tenant import Tenant
from quotas.models import Grant
from tenants.models import Namespace


def desired_tenant(
    namespace: Namespace,
    grant: Grant,
    *,
    groups: Collection[str],
    offered: Collection[str],
    at: datetime,
) -> Tenant:
    """The tenant that this grant allows at this time.

    `groups` are the IdP groups whose people work in it, `offered` the resources that the cluster's
    nodes have: of accelerators that the grant does not name there are none. Past the grant's end
    every limit is zero: what runs goes on, nothing new starts.
    """
    prefix = namespace.cluster.group_prefix
    return Tenant(
        namespace=namespace.name,
        uid=namespace.uid,
        namespace_id=str(namespace.pk),
        labels={
            "berth.dev/team": label_value(namespace.team.slug),
            "berth.dev/request-id": str(grant.request_id),
            "berth.dev/grant-id": str(grant.pk),
            "pod-security.kubernetes.io/enforce": settings.BERTH_POD_SECURITY,
        },
        annotations={},
        hard=hard_of(grant, at=at),
        limit_default=grant.limit_default,
        limit_default_request=grant.limit_default_request,
        groups=tuple(sorted(subject(prefix, group) for group in groups)),
        withheld=withheld(grant, offered),
    )


def hard_of(grant: Grant, *, at: datetime) -> dict[str, str]:
    """The granted amounts at this time; past the grant's end none of any."""
    over = grant.ends_at is not None and grant.ends_at <= at
    return {resource: "0" if over else amount for resource, amount in grant.amounts.items()}


def withheld(grant: Grant, offered: Collection[str]) -> tuple[str, ...]:
    """Quota keys of the accelerators that nodes offer and the grant does not name."""
    keys = {f"requests.{resource}" for resource in offered if is_extended(resource)}
    return tuple(sorted(keys - grant.amounts.keys()))
