"""What every page may show: `site` in templates."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from tenants.models import User
from tenants.permissions import Role, roles_of
from tenants.selectors import teams_led


class Site:
    """The portal as the person of this request sees it. Each part is looked up when first used."""

    def __init__(self, user: User | None) -> None:
        self._user = user

    @cached_property
    def roles(self) -> frozenset[Role]:
        """The person's roles on the whole portal: admin, approver, auditor. No query."""
        return roles_of(self._user.groups) if self._user else frozenset()

    @cached_property
    def leads(self) -> bool:
        """Whether the person leads a team, and so may ask for something. One query."""
        return self._user is not None and teams_led(self._user).exists()

    @cached_property
    def progress(self) -> dict[str, Any] | None:
        """How far a demo's control plane has been built; None where nothing is being built."""
        if not settings.BERTH_PROGRESS_FILE:
            return None
        try:
            progress = json.loads(Path(settings.BERTH_PROGRESS_FILE).read_bytes())
        except (OSError, ValueError):  # not written yet, or being written
            return None
        return progress if isinstance(progress, dict) else None


def site(request: HttpRequest) -> dict[str, Site]:
    """Context processor."""
    user = getattr(request, "user", None)
    return {"site": Site(user if user is not None and user.is_authenticated else None)}
