"""`manage.py apply_tenants FILE`: make clusters and teams what a YAML file says; repeatable.

    clusters:
      - slug: main
        name: Main cluster
        kubeconfig: /etc/berth/main.kubeconfig    # empty: the pod's own service account
    teams:
      - slug: alpha
        name: Team Alpha
        leads: [data-science-alpha-leads]
        members: [data-science-alpha]

What the file does not name is left as it is. All of it is taken, or nothing.
"""

from pathlib import Path
from typing import Any

import yaml
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from tenants.models import Cluster, Team, TeamGroup
from tenants.services import CLUSTER_FIELDS, cluster_save, team_save

TEAM_FIELDS = {"slug", "name", "leads", "members"}


class Command(BaseCommand):
    help = "Make clusters and teams what a YAML file says."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *, file: Path, **options: Any) -> None:
        try:
            wanted = yaml.safe_load(file.read_text()) or {}
        except (OSError, yaml.YAMLError) as error:
            raise CommandError(str(error)) from error
        clusters = _rows(wanted, "clusters", known=set(CLUSTER_FIELDS))
        teams = _rows(wanted, "teams", known=TEAM_FIELDS)
        with transaction.atomic():
            for row in clusters:
                _applied(row, lambda row=row: cluster_save(actor=None, cluster=_cluster(row)))
            for row in teams:
                _applied(row, lambda row=row: team_save(actor=None, **_team(row)))
        self.stdout.write(f"{len(clusters)} clusters and {len(teams)} teams are as the file says")


def _rows(wanted: Any, key: str, *, known: set[str]) -> list[dict[str, Any]]:
    if not isinstance(wanted, dict) or wanted.keys() - {"clusters", "teams"}:
        raise CommandError("The file must have the keys “clusters” and “teams”, and no other.")
    rows = wanted.get(key) or []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("slug"), str):
            raise CommandError(f"Each of “{key}” needs a slug: {row!r}")
        if unknown := row.keys() - known:
            raise CommandError(f"{key} {row['slug']}: unknown {', '.join(sorted(unknown))}")
    return rows


def _applied(row: dict[str, Any], save: Any) -> None:
    try:
        save()
    except ValidationError as error:
        raise CommandError(f"{row['slug']}: {'; '.join(error.messages)}") from error


def _cluster(row: dict[str, Any]) -> Cluster:
    cluster = Cluster.objects.filter(slug=row["slug"]).first() or Cluster(name=row["slug"])
    for field, value in row.items():
        setattr(cluster, field, value)
    return cluster


def _team(row: dict[str, Any]) -> dict[str, Any]:
    team = Team.objects.filter(slug=row["slug"]).first() or Team(slug=row["slug"], name=row["slug"])
    team.name = row.get("name", team.name)
    groups = [(TeamGroup.Role.LEAD, name) for name in row.get("leads", [])]
    groups += [(TeamGroup.Role.MEMBER, name) for name in row.get("members", [])]
    return {"team": team, "groups": groups}
