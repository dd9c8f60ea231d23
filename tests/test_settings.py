"""Each setting is explained, and docker-compose.yml sets no variable that nothing reads."""

import json
import re
import subprocess
import sys
from pathlib import Path

import yaml

from deploy.compose.make_realm import realm

ROOT = Path(__file__).resolve().parent.parent
READ = set(re.findall(r'env\.\w+\(\s*"(\w+)"', (ROOT / "portal/settings.py").read_text()))
# Read by libraries, not by us.
BY_LIBRARIES = {"REQUESTS_CA_BUNDLE"}


def test_settings_are_found():
    assert {"DATABASE_URL", "OIDC_ISSUER", "BERTH_SECRET_KEY"} <= READ


def test_each_setting_is_explained():
    explained = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", (ROOT / "docs/operations.md").read_text()))
    assert explained == READ


def test_compose_file_meets_the_specification():
    check = ["-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run(
        [sys.executable, *check, ROOT / "docker-compose.yml"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_compose_file_sets_only_what_is_read():
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    ours = [s for s in compose["services"].values() if s.get("image") == "berth"]
    assert len(ours) == 5
    for service in ours:
        assert set(service["environment"]) - BY_LIBRARIES <= READ


def test_compose_file_mounts_only_files_that_are_here():
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    mounted = [
        volume.split(":")[0]
        for service in compose["services"].values()
        for volume in service.get("volumes", [])
        if volume.startswith("./")
    ]
    assert mounted
    assert [path for path in mounted if not (ROOT / path).exists()] == []


def test_the_realm_has_the_people_of_the_demo():
    written = json.loads((ROOT / "deploy/compose/realm.json").read_text())
    assert written == realm(), "run python -m deploy.compose.make_realm"


def test_the_realms_clients_are_those_of_the_compose_file():
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    environment = compose["services"]["web"]["environment"]
    portal, cluster = realm()["clients"]
    assert portal["clientId"] == environment["OIDC_CLIENT_ID"]
    assert portal["secret"] == environment["OIDC_CLIENT_SECRET"]
    assert (
        f"--kube-apiserver-arg=oidc-client-id={cluster['clientId']}"
        in (compose["services"]["k3s"]["command"])
    )
