"""How figures, times and states are written on pages."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from cluster.quantities import QuantityError, human
from quotas.convergence import Convergence, convergence_of
from quotas.models import Amounts
from quotas.states import Status
from quotas.usage import QuotaView, label, order
from tenants.models import Cluster, Namespace, Transition, User
from tenants.selectors import clusters_visible

register = template.Library()

# Older than this, a figure says how old it is.
FRESH = timedelta(minutes=1)
BRIEF_ROWS = 4

STATUS_TAGS = {
    Status.SUBMITTED: ("wait", "clock"),
    Status.APPROVED: ("good", "check"),
    Status.DENIED: ("bad", "cross"),
    Status.WITHDRAWN: ("", "cross"),
}
HEALTH_TAGS = {
    "ready": ("good", "check"),
    "updating": ("info", "clock"),
    "waiting": ("wait", "clock"),
    "scheduled": ("info", "clock"),
    "failed": ("bad", "alert"),
}
ACTIONS = {
    "submit": gettext_noop("asked for it"),
    "edit": gettext_noop("changed the request"),
    "approve": gettext_noop("approved the request"),
    "deny": gettext_noop("denied the request"),
    "withdraw": gettext_noop("withdrew the request"),
    "grant": gettext_noop("granted the amounts"),
    "created": gettext_noop("made the namespace"),
    "recreated": gettext_noop("made the namespace again"),
    "ready": gettext_noop("reports that it is ready"),
    "not_ready": gettext_noop("reports that it is no longer ready"),
    "register": gettext_noop("registered it"),
    "change": gettext_noop("changed it"),
}


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """A drawing from static/icons.svg; it says nothing that the words beside it do not."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        classes,
        static("icons.svg"),
        name,
    )


@register.simple_tag
def status_tag(status: str) -> SafeString:
    """A request's status as a badge."""
    kind, drawing = STATUS_TAGS[Status(status)]
    return _tag(kind, drawing, Status(status).label)


@register.simple_tag
def health_tag(subject: Namespace | Convergence) -> SafeString:
    """How far a namespace has come, as a badge."""
    convergence = convergence_of(subject) if isinstance(subject, Namespace) else subject
    kind, drawing = HEALTH_TAGS[convergence.health]
    return _tag(kind, drawing, convergence.label)


def _tag(kind: str, drawing: str, text: Any) -> SafeString:
    classes = f"tag tag-{kind}" if kind else "tag"
    return format_html('<span class="{}">{}{}</span>', classes, icon(drawing), text)


@register.filter
def percent_text(percent: float | None) -> str:
    """`150 %`, `0.1 %`, `<0.1 %`."""
    if percent is None:
        return ""
    if 0 < percent < 0.1:
        return "<" + _("%(number)s %%") % {"number": number_format("0.1")}
    # Down, so that nothing is called full that is not.
    tenths = int(percent * 10) / 10
    number = int(percent) if percent >= 10 or tenths == int(tenths) else tenths
    return _("%(number)s %%") % {"number": number_format(number, use_l10n=True)}


@register.filter
def bar_width(row: Any) -> str:
    """How far a bar reaches, in percent; one that holds anything can be seen."""
    if row.level == "over":
        return "100"
    if not row.percent:
        return "0"
    return f"{min(max(row.percent, 1), 100):.1f}"


@register.filter
def figures(row: Any) -> str:
    """Used of hard in words: what a bar shows, for those who read."""
    if row.level == "none":
        return _("none allowed")
    if row.level == "unreported":
        return _("not reported; limit %(hard)s") % {"hard": row.hard_text}
    return _("%(used)s of %(hard)s") % {"used": row.used_text, "hard": row.hard_text}


@register.filter
def amount_rows(amounts: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Resource, its name for people, and the amount, in the order of all lists."""
    return [
        (resource, label(resource), _human(resource, text))
        for resource, text in sorted(amounts.items(), key=order)
    ]


@register.filter
def limit_rows(source: Amounts) -> list[tuple[str, str, str]]:
    """A container's defaults: resource, request, limit; `–` where there is none."""
    requests, limits = source.limit_default_request, source.limit_default
    names = {"cpu": _("CPU"), "memory": _("Memory")}
    return [
        (
            names.get(resource, resource),
            _human(resource, requests.get(resource, "–")),
            _human(resource, limits.get(resource, "–")),
        )
        for resource in sorted(requests.keys() | limits.keys())
    ]


@register.filter
def amounts_line(amounts: Mapping[str, str]) -> str:
    """Amounts in one line, the most wanted first."""
    shown = amount_rows(amounts)[:BRIEF_ROWS]
    return " · ".join(f"{name} {amount}" for _resource, name, amount in shown)


def _human(resource: str, text: str) -> str:
    try:
        return human(resource, text)
    except QuantityError:
        return text


@register.filter
def brief(quotas: list[QuotaView]) -> list[Any]:
    """The rows that fit on a card: those that bind, of what may be used, as it is asked for."""
    rows = [row for quota in quotas if not quota.scope for row in quota.rows if row.binding]
    rows = [row for row in rows if row.level != "none"] or rows
    return [row for row in rows if not row.resource.startswith("limits.")][:BRIEF_ROWS]


@register.filter
def fresh_as_of(quotas: list[QuotaView]) -> datetime | None:
    """Up to when all of these figures are known to be current."""
    return min((quota.as_of for quota in quotas if quota.as_of), default=None)


@register.filter
def as_of(moment: datetime | str | None) -> str:
    """`as of 14:03:05`, and how long ago that is once it is no longer fresh."""
    if isinstance(moment, str):
        moment = parse_datetime(moment)
    if moment is None:
        return _("never seen")
    local, now = timezone.localtime(moment), timezone.localtime()
    told = f"{local:%H:%M:%S}" if local.date() == now.date() else stamp(moment)
    words = _("as of %(time)s") % {"time": told}
    if now - local > FRESH:
        words += " " + _("(%(age)s ago)") % {"age": timesince(local, now, depth=1)}
    return words


@register.filter
def stamp(moment: datetime | str | None) -> str:
    """A moment as this page's reader writes it, with the zone it is told in."""
    if isinstance(moment, str):
        moment = parse_datetime(moment)
    if moment is None:
        return ""
    local = timezone.localtime(moment)
    return f"{date_format(local, 'DATE_FORMAT')} {local:%H:%M} {local.tzname()}"


@register.filter
def clock(moment: str) -> str:
    """The time of day of a condition's RFC 3339 text, to the millisecond: steps are quick."""
    parsed = parse_datetime(moment)
    return f"{timezone.localtime(parsed):%H:%M:%S.%f}"[:-3] if parsed else ""


@register.filter
def ago(moment: datetime) -> str:
    """`just now`, `3 minutes ago`."""
    if timezone.now() - moment < FRESH:
        return _("just now")
    return _("%(age)s ago") % {"age": timesince(moment, depth=1)}


@register.filter
def initial(user: User) -> str:
    """One letter for a person."""
    return str(user)[:1].upper()


@register.filter
def waited(moment: datetime) -> str:
    """How long something has waited, in its largest unit."""
    if timezone.now() - moment < FRESH:
        return _("a moment")
    return timesince(moment, depth=1)


@register.filter
def who(actor: User | None) -> str:
    """Who acted; Berth where nobody did."""
    return str(actor) if actor else "Berth"


@register.filter
def action_text(line: Transition) -> str:
    """What happened, as the rest of a sentence that begins with who did it."""
    text = ACTIONS.get(line.action)
    return _(text) if text else line.action


@register.filter
def subject_url(line: Transition) -> str:
    """The page of what a line is about; empty where it has none."""
    if line.subject_type == "request":
        return reverse("request", args=[line.subject_id])
    if line.namespace and line.namespace.released_at is None:
        return line.namespace.get_absolute_url()
    if line.subject_type == "team" and line.team:
        return reverse("team", args=[line.team.slug])
    return ""


@register.filter
def subject_text(line: Transition) -> str:
    """What a line is about."""
    name = line.data.get("name") or (line.namespace.name if line.namespace else "")
    if line.subject_type == "request":
        return f"#{line.subject_id} {name}".strip()
    return name or line.subject_id


@register.simple_tag(takes_context=True)
def troubled_clusters(context: Context) -> list[Cluster]:
    """The clusters that do not answer or never have, for the notice on every page. One query."""
    user = context.get("user")
    if not isinstance(user, User):
        return []
    return [
        cluster
        for cluster in clusters_visible(user).filter(enabled=True).order_by("name", "pk")
        if cluster.lost_since is not None or cluster.watched_at is None
    ]


@register.simple_tag
def stream_url(topics: list[str]) -> str:
    """Where a page listens for changes of its topics."""
    return f"{reverse('stream')}?{urlencode([('topic', topic) for topic in topics])}"


@register.simple_tag
def on_changes(topics: list[str]) -> str:
    """The htmx trigger of a live part: its topics' events, and now and then in case none comes."""
    events = [f"{topic} from:body throttle:250ms" for topic in topics]
    return ", ".join([*events, "every 15s"])


@register.simple_tag(takes_context=True)
def query(context: Context, **changes: Any) -> str:
    """This page's query string with some parts changed; empty ones are dropped."""
    params = context["request"].GET.copy()
    for name, value in changes.items():
        params[name] = value
    kept = [(name, value) for name, value in params.items() if value not in ("", None)]
    return f"?{urlencode(kept)}"


@register.filter
def fraction_percent(progress: Mapping[str, Any] | None) -> int:
    """How much of something is done, in percent, whatever the file said."""
    fraction = (progress or {}).get("fraction")
    return round(min(max(fraction, 0), 1) * 100) if isinstance(fraction, int | float) else 0
