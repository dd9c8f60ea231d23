"""The install manifests on the real server, and Berth with just the rights that they give."""

import base64
import json
from pathlib import Path

import pytest
import yaml

from quotas.reconcile import namespace_reconcile
from tenants.models import Namespace
from tenants.states import is_true

pytestmark = pytest.mark.cluster

MANIFESTS = Path(__file__).resolve().parents[2] / "deploy" / "kubernetes"


@pytest.fixture
def as_service_account(control_plane, tmp_path):
    """A kubeconfig with the token of the account that the manifests make."""
    control_plane.kubectl("apply", "--server-side", "-f", str(MANIFESTS / "namespace.yaml"))
    rbac = str(MANIFESTS / "rbac.yaml")
    control_plane.kubectl("apply", "--server-side", "--namespace", "berth-system", "-f", rbac)
    token = control_plane.kubectl("create", "token", "berth", "--namespace", "berth-system")
    path = tmp_path / "berth.kubeconfig"
    config = yaml.safe_load(Path(control_plane.kubeconfig).read_text())
    config["users"][0]["user"] = {"token": token.strip()}
    path.write_text(yaml.safe_dump(config))
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims["sub"] == "system:serviceaccount:berth-system:berth"
    return path


def test_the_server_takes_every_manifest(control_plane, as_service_account):
    said = control_plane.kubectl("apply", "--server-side", "--dry-run=server", "-k", str(MANIFESTS))
    for name in ("web", "worker", "beat", "watcher"):
        assert f"deployment.apps/{name} serverside-applied" in said
    assert "Warning" not in said


def test_the_shipped_rights_are_enough(cluster_row, live, approved, as_service_account):
    cluster_row.kubeconfig = str(as_service_account)
    cluster_row.save()
    request = approved(cluster_row, live.name())
    namespace_reconcile(request.namespace_id)
    namespace = Namespace.objects.get(pk=request.namespace_id)
    assert is_true(namespace.conditions, "Ready"), namespace.conditions


def test_the_shipped_rights_have_no_wildcard():
    for document in yaml.safe_load_all((MANIFESTS / "rbac.yaml").read_text()):
        for rule in document.get("rules", []):
            granted = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
            assert not {"*", "escalate", "bind", "impersonate"} & set(granted)
