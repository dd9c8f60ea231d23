"""What people of the IdP groups may do in the real cluster, by their own tokens."""

import pytest

from dev.idp import PORTAL_CLIENT
from dev.kubernetes import ApiError
from dev.people import ALPHA_MEMBER, BETA_MEMBER
from quotas.reconcile import namespace_reconcile
from tenants.models import Namespace, TeamGroup
from tenants.states import is_true
from tests.factories import AMOUNTS, TeamFactory, TeamGroupFactory

pytestmark = pytest.mark.cluster


@pytest.fixture
def teams(cluster_row, live, approved, control_plane):
    """A namespace for alpha and one for beta, and the clusters' answers to their people."""
    names = {}
    for slug in ("alpha", "beta"):
        team = TeamFactory(slug=slug, groups=False)
        group = f"data-science-{slug}"
        TeamGroupFactory(team=team, name=group, role=TeamGroup.Role.MEMBER)
        TeamGroupFactory(team=team, name=f"{group}-leads", role=TeamGroup.Role.LEAD)
        request = approved(cluster_row, live.name(f"team-{slug}"), team=team)
        namespace_reconcile(request.namespace_id)
        assert is_true(Namespace.objects.get(pk=request.namespace_id).conditions, "Ready")
        names[slug] = request.name
    return names


@pytest.fixture
def asks(control_plane, idp):
    """The status that a person's request gets, and the server's words for a refusal."""

    def ask(person, method, path, body=None, client_id="kubernetes", **headers):
        token = idp.id_token(person, client_id)
        try:
            control_plane.api(method, path, body, token=token, **headers)
        except ApiError as error:
            return error.code, str(error)
        return 201 if method == "POST" else 200, ""

    return ask


def pod(name, *, gpus=0, resources=None):
    if gpus:
        resources = {"limits": {"nvidia.com/gpu": gpus}, "requests": {"nvidia.com/gpu": gpus}}
    container = {"name": "main", "image": "pytorch", "resources": resources or {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container]},
    }


def pods(namespace):
    return f"/api/v1/namespaces/{namespace}/pods"


def test_each_team_works_in_its_own_namespace_only(teams, asks):
    assert asks(ALPHA_MEMBER, "POST", pods(teams["alpha"]), pod("a"))[0] == 201
    assert asks(BETA_MEMBER, "POST", pods(teams["beta"]), pod("b"))[0] == 201
    code, words = asks(ALPHA_MEMBER, "POST", pods(teams["beta"]), pod("a"))
    assert code == 403, words
    code, words = asks(BETA_MEMBER, "POST", pods(teams["alpha"]), pod("b"))
    assert code == 403, words


def test_the_portals_token_opens_no_cluster_door(teams, asks):
    code, _ = asks(ALPHA_MEMBER, "GET", pods(teams["alpha"]), client_id=PORTAL_CLIENT)
    assert code == 401


def test_the_eleventh_pod_is_refused(teams, asks):
    for number in range(10):
        assert asks(ALPHA_MEMBER, "POST", pods(teams["alpha"]), pod(f"p{number}"))[0] == 201
    code, words = asks(ALPHA_MEMBER, "POST", pods(teams["alpha"]), pod("p10"))
    assert code == 403
    assert "exceeded quota: dev-quota" in words
    assert "pods=10" in words


def test_the_fifth_gpu_is_refused(teams, asks):
    assert asks(ALPHA_MEMBER, "POST", pods(teams["alpha"]), pod("four", gpus=4))[0] == 201
    code, words = asks(ALPHA_MEMBER, "POST", pods(teams["alpha"]), pod("one", gpus=1))
    assert code == 403
    assert "exceeded quota: dev-quota" in words
    assert "requests.nvidia.com/gpu=1" in words


def test_a_pod_without_requests_gets_the_limit_ranges(teams, asks, control_plane):
    asks(ALPHA_MEMBER, "POST", pods(teams["alpha"]), pod("bare"))
    found = control_plane.api("GET", f"{pods(teams['alpha'])}/bare")
    resources = found["spec"]["containers"][0]["resources"]
    limits = control_plane.api(
        "GET", f"/api/v1/namespaces/{teams['alpha']}/limitranges/dev-limits"
    )["spec"]["limits"][0]
    assert resources == {"limits": limits["default"], "requests": limits["defaultRequest"]}


@pytest.mark.parametrize(
    "reach",
    [
        {"hostNetwork": True},
        {"hostPID": True},
        {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]},
    ],
    ids=lambda spec: next(iter(spec)),
)
def test_a_pod_does_not_reach_its_node(teams, asks, reach):
    wanted = pod("reaching")
    wanted["spec"].update(reach)
    code, words = asks(ALPHA_MEMBER, "POST", pods(teams["alpha"]), wanted)
    assert code == 403
    assert 'violates PodSecurity "baseline' in words


def test_a_team_cannot_change_what_limits_it(teams, asks):
    name = teams["alpha"]
    core, rbac = f"/api/v1/namespaces/{name}", "/apis/rbac.authorization.k8s.io/v1/namespaces"
    objects = [
        f"{core}/resourcequotas/dev-quota",
        f"{core}/limitranges/dev-limits",
        f"{rbac}/{name}/roles/ml-developer",
        f"{rbac}/{name}/rolebindings/{name}-binding",
        core,
    ]
    merge = {"Content-Type": "application/merge-patch+json"}
    for path in objects:
        assert asks(ALPHA_MEMBER, "PATCH", path, {"metadata": {}}, **merge)[0] == 403, path
        assert asks(ALPHA_MEMBER, "DELETE", path)[0] == 403, path
    another = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "mine"},
        "spec": {"hard": AMOUNTS},
    }
    assert asks(ALPHA_MEMBER, "POST", f"{core}/resourcequotas", another)[0] == 403
