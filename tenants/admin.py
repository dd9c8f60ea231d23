"""What platform admins register: teams with their groups, and clusters.

Whom the admin site lets in is an admin (portal.admin_site), so there are no finer permissions here.
Writing is the services' business; nothing is deleted, since the history names it.
"""

from typing import Any, cast

from django import forms
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

from tenants.models import Cluster, Team, TeamGroup, User
from tenants.services import CLUSTER_FIELDS, cluster_save, team_save


class OpenToAdmins:
    """Everything but deleting. Django's own permissions are not in use."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class TeamGroupForm(forms.ModelForm):
    """A group's name is kept byte for byte: spaces are refused by the model, not cut off here."""

    name = forms.CharField(strip=False, label=TeamGroup._meta.get_field("name").verbose_name)


class TeamGroupInline(OpenToAdmins, admin.TabularInline):
    model = TeamGroup
    form = TeamGroupForm
    extra = 1

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True


@admin.register(Team)
class TeamAdmin(OpenToAdmins, admin.ModelAdmin):
    list_display = ["name", "slug"]
    search_fields = ["name", "slug"]
    inlines = [TeamGroupInline]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return ["slug"] if obj else []

    def save_model(self, request: HttpRequest, obj: Team, form: Any, change: bool) -> None:
        """Later, with the groups."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        (groups,) = formsets
        groups.save(commit=False)  # tells the admin's own log what changed
        kept = [row for row in groups.forms if row not in groups.deleted_forms]
        filled = [row.cleaned_data for row in kept if row.cleaned_data]
        team_save(
            actor=cast(User, request.user),
            team=form.instance,
            groups=[(row["role"], row["name"]) for row in filled],
        )


@admin.register(Cluster)
class ClusterAdmin(OpenToAdmins, admin.ModelAdmin):
    list_display = ["name", "slug", "enabled", "watched_at", "lost_since"]
    search_fields = ["name", "slug"]
    fields = CLUSTER_FIELDS

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return ["slug"] if obj else []

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "group_prefix":
            kwargs["strip"] = False
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Cluster, form: Any, change: bool) -> None:
        cluster_save(actor=cast(User, request.user), cluster=obj)
