"""The parts themselves: what the demo and all other tests stand on."""

import os
import subprocess
import sys
import time
from uuid import uuid4

import psycopg
import pytest
import requests

from dev.kubernetes import ApiError
from dev.people import ALPHA_MEMBER, EVERYBODY, OUTSIDER
from dev.postgres import Postgres

REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def test_valkey_answers(valkey):
    valkey.set("key", "value")
    assert valkey.get("key") == "value"


def test_postgres_keeps_its_data_and_port(tmp_path):
    with Postgres(tmp_path) as first, psycopg.connect(first.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS column")
        url = first.url
    with Postgres(tmp_path) as again, psycopg.connect(again.url) as connection:
        assert again.url == url
        assert connection.execute("SELECT * FROM kept").fetchone() == (1,)


def test_postgres_wants_its_password(tmp_path):
    with Postgres(tmp_path, durable=False) as postgres:
        without = postgres.url.replace(postgres.secret("password"), "wrong")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(without)


def test_testbed_ends_with_whoever_started_it(tmp_path):
    """Also when that process is killed and can clean nothing up."""
    code = "from dev.testbed import Client; print(Client.start().folder, flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], **PIPES) as owner:
        folder = owner.stdout.readline().strip()
        assert os.path.isdir(folder)
        owner.kill()
    until = time.monotonic() + 20
    while os.path.exists(folder) and time.monotonic() < until:
        time.sleep(0.1)
    assert not os.path.exists(folder)


def test_cluster_knows_people_by_their_token(control_plane, idp):
    answer = control_plane.api("POST", WHOAMI, REVIEW, token=idp.id_token(ALPHA_MEMBER))
    person = answer["status"]["userInfo"]
    assert person["username"] == ALPHA_MEMBER.subject
    assert person["groups"] == ["data-science-alpha", "system:authenticated"]


def test_somebody_in_no_group_is_only_signed_in(control_plane, idp):
    answer = control_plane.api("POST", WHOAMI, REVIEW, token=idp.id_token(OUTSIDER))
    assert answer["status"]["userInfo"]["groups"] == ["system:authenticated"]


def test_kubectl_works_as_a_person(control_plane, idp):
    kubeconfig = str(control_plane.kubeconfig_of(ALPHA_MEMBER))
    command = "--kubeconfig", kubeconfig, "auth", "whoami", "-o", "jsonpath={.status.userInfo}"
    assert f'"username":"{ALPHA_MEMBER.subject}"' in control_plane.kubectl(*command)


def test_people_are_picked_from_a_page_that_loads_nothing(idp):
    asked = {
        "response_type": "code",
        "client_id": "berth",
        "redirect_uri": "http://127.0.0.1:1/",
        "scope": "openid",
        "state": "state",
    }
    address = f"{idp.issuer}/oauth2/authorize"
    page = requests.get(address, params=asked, timeout=10)
    for person in EVERYBODY:
        assert f'value="{person.subject}"' in page.text
        assert person.name in page.text
    assert "https://" not in page.text
    picked = {"sub": ALPHA_MEMBER.subject}
    back = requests.post(address, params=asked, data=picked, allow_redirects=False, timeout=10)
    assert back.headers["Location"].startswith("http://127.0.0.1:1/?code=")
    page = requests.get(f"{idp.issuer}/oauth2/end_session", timeout=10)
    assert "Sign out here too?" in page.text


@pytest.mark.parametrize(
    "token",
    [{"client_id": "berth"}, {"lifetime": -60}],
    ids=["for the portal", "expired"],
)
def test_cluster_refuses_other_tokens(control_plane, idp, token):
    with pytest.raises(ApiError) as refused:
        control_plane.api("POST", WHOAMI, REVIEW, token=idp.id_token(ALPHA_MEMBER, **token))
    assert refused.value.code == 401


def test_quota_reports_its_status(control_plane):
    name = f"quota-{uuid4().hex[:8]}"
    control_plane.kubectl("create", "namespace", name)
    try:
        control_plane.kubectl(
            "create",
            "quota",
            "dev-quota",
            f"--namespace={name}",
            "--hard=requests.nvidia.com/gpu=4",
        )
        path = f"/api/v1/namespaces/{name}/resourcequotas/dev-quota"
        until = time.monotonic() + 10
        while time.monotonic() < until:
            if used := control_plane.api("GET", path)["status"].get("used"):
                break
            time.sleep(0.05)
        assert used == {"requests.nvidia.com/gpu": "0"}
    finally:
        control_plane.kubectl("delete", "namespace", name, "--wait=false")


def test_nodes_offer_gpus(control_plane):
    nodes = control_plane.api("GET", "/api/v1/nodes")["items"]
    offered = [node["status"]["allocatable"] for node in nodes]
    assert sum(int(node.get("nvidia.com/gpu", 0)) for node in offered) == 32
    assert any("nvidia.com/mig-1g.10gb" in node for node in offered)
