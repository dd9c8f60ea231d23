"""`make smoke`: the main journey on a stack of its own, as one check; the last line is JSON.

Sign-in, request, approval, a namespace that is ready, a pod made with a member's own token, its use
on the dashboard's stream, a pod over quota refused. Everything is started on free ports in a
temporary folder and ended again. Exit code 0 only if all of it held.
"""

import contextlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from dev.binaries import Unavailable, find_or_build
from dev.idp import PORTAL_CLIENT, IdP
from dev.kubernetes import ApiError, ControlPlane
from dev.nodes import DEMO_NODES
from dev.part import PartError
from dev.people import ALPHA_LEAD, ALPHA_MEMBER, APPROVER, BETA_MEMBER
from dev.portal import Portal
from dev.postgres import Postgres
from dev.terminal import Line, say, step
from dev.valkey import Valkey
from dev.visitor import Unexpected, Visitor

# Each figure is the median of so many rounds, ours and kubectl's taking turns.
ROUNDS = 3
GPU = "nvidia.com/gpu"
# What Berth makes for one namespace, as kubectl names it.
MADE = "limitrange,resourcequota,role,rolebinding"


class Stack:
    """All parts, running."""

    def __init__(self, folder: Path) -> None:
        self.postgres = Postgres(folder / "postgres", durable=False)
        self.valkey = Valkey(folder / "valkey")
        self.idp = IdP(folder / "idp")
        self.cluster = ControlPlane(
            folder / "cluster", idp=self.idp, nodes=DEMO_NODES, durable=False
        )
        self.portal = Portal(
            folder / "portal", postgres=self.postgres, valkey=self.valkey, idp=self.idp
        )

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for title, part in (
                ("PostgreSQL", self.postgres),
                ("Valkey", self.valkey),
                ("identity provider", self.idp),
                ("Kubernetes", self.cluster),
            ):
                with step(title):
                    stack.enter_context(part)
            with step("web, worker, beat and watcher"):
                self.portal.seed(self.cluster.kubeconfig, requests="none")
                stack.enter_context(self.portal)
            yield


class Journey:
    """The steps, in order. Each raises Unexpected if it does not hold."""

    def __init__(self, stack: Stack) -> None:
        self.cluster, self.idp, self.portal = stack.cluster, stack.idp, stack.portal.url
        self.lead = Visitor(self.portal, ALPHA_LEAD)
        self.member = Visitor(self.portal, ALPHA_MEMBER)
        self.approver = Visitor(self.portal, APPROVER)

    def sign_in(self) -> None:
        for visitor in (self.lead, self.member, self.approver):
            visitor.sign_in()

    def cluster_is_seen(self) -> None:
        """Until the watcher has seen the nodes, nobody can judge whether a request fits."""

        def seen() -> bool:
            clusters = self.lead.json("/api/v1/clusters/")["results"]
            return any(GPU in (cluster["allocatable"] or {}) for cluster in clusters)

        _wait(seen, "the watcher did not see the cluster")

    def submit(self, name: str) -> int:
        """Asks by the form with what it suggests; the number of the request."""
        form = self.lead.get("/requests/new/")
        page = self.lead.submit(form, name=name, reason="A check that all of it works.")
        try:
            return int(page.url.rstrip("/").rsplit("/", 1)[1])
        except ValueError:
            raise Unexpected(f"submitting led to {page.url}") from None

    def approve(self, request: int) -> tuple[dict[str, Any], float]:
        """Approves what the page shows; the ready namespace, and the milliseconds until then.

        Ready's own time is the worker's, by the same clock: asking for it again and again would
        slow down what is measured.
        """
        page = self.approver.get(f"/requests/{request}/")
        start = time.time()
        self.approver.submit(page, to="/approve/")
        found: dict[str, Any] = {}

        def ready() -> bool:
            nonlocal found
            name = self.lead.json(f"/api/v1/requests/{request}/")["name"]
            (found,) = self.lead.json(f"/api/v1/namespaces/?name={name}")["results"]
            return _condition(found, "Ready").get("status") == "True"

        _wait(ready, lambda: f"not ready: {json.dumps(found.get('conditions'))}")
        since = datetime.fromisoformat(_condition(found, "Ready")["lastTransitionTime"])
        return found, (since.timestamp() - start) * 1000

    def pod_is_told(self, namespace: dict[str, Any]) -> float:
        """A member's pod runs and its use is told; the milliseconds from the call to the event."""
        topic = f"namespace:{namespace['id']}"
        token = self.idp.id_token(ALPHA_MEMBER)

        def told(name: str, data: Any, used: str) -> bool:
            figures = [quota["resources"].get(f"requests.{GPU}") for quota in data["quotas"]]
            return name == topic and any(f is not None and f["used"] == used for f in figures)

        with self.member.stream(topic) as events:
            events.until(lambda name, data: told(name, data, "0"))
            start = time.perf_counter()
            self._create_pod(namespace["name"], token, gpus=1)
            return (events.until(lambda name, data: told(name, data, "1")) - start) * 1000

    def others_are_refused(self, namespace: dict[str, Any]) -> None:
        name = namespace["name"]
        self._refused(403, "exceeded quota", name, self.idp.id_token(ALPHA_MEMBER), gpus=4)
        self._refused(403, "forbidden", name, self.idp.id_token(BETA_MEMBER), gpus=1)
        # The portal's own tokens open no door of the cluster.
        self._refused(401, "", name, self.idp.id_token(ALPHA_MEMBER, PORTAL_CLIENT), gpus=1)

    def kubectl_apply(self, like: dict[str, Any], name: str) -> float:
        """Milliseconds that kubectl takes to apply the same objects for a namespace `name`."""
        made = self.cluster.kubectl("get", MADE, "-n", like["name"], "-o", "json")
        own = self.cluster.kubectl("get", "namespace", like["name"], "-o", "json")
        objects = [json.loads(own), *json.loads(made)["items"]]
        for thing in objects:
            meta, old = {}, thing["metadata"]
            for key in ("labels", "annotations", "name"):
                if key in old:
                    meta[key] = old[key]
            if thing["kind"] == "Namespace":
                meta["name"] = name
            else:
                meta["namespace"] = name
            thing["metadata"] = meta
            thing.pop("status", None)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        start = time.perf_counter()
        self.cluster.kubectl("apply", "--server-side", "-f", "-", stdin=text)
        return (time.perf_counter() - start) * 1000

    def _create_pod(self, namespace: str, token: str, *, gpus: int) -> None:
        limits = {GPU: str(gpus)}
        spec = {
            "containers": [{"name": "main", "image": "example", "resources": {"limits": limits}}]
        }
        pod = {"metadata": {"generateName": "smoke-"}, "spec": spec}
        path = f"/api/v1/namespaces/{namespace}/pods"
        self.cluster.api("POST", path, {"apiVersion": "v1", "kind": "Pod", **pod}, token=token)

    def _refused(self, code: int, words: str, namespace: str, token: str, *, gpus: int) -> None:
        try:
            self._create_pod(namespace, token, gpus=gpus)
        except ApiError as error:
            if error.code == code and words in str(error):
                return
            raise Unexpected(f"refused, but with {error.code}: {error}") from error
        raise Unexpected(f"a pod that must be refused with {code} was made")


def main() -> int:
    result: dict[str, Any] = {
        "journey": False,
        "approve_to_ready_ms": None,
        "pod_to_stream_ms": None,
        "kubectl_apply_ms": None,
    }
    try:
        with Line() as line:
            find_or_build(lambda fraction, phrase: line.show(f"  {fraction:4.0%} {phrase}"))
        with tempfile.TemporaryDirectory(prefix="berth-smoke-") as folder:
            stack = Stack(Path(folder))
            with stack.running():
                result |= _walk(Journey(stack))
        result["journey"] = True
    except (Unexpected, PartError, ApiError, Unavailable, RuntimeError, OSError) as error:
        say(f"  {error}")
    say(json.dumps(result))
    return 0 if result["journey"] else 1


def _walk(journey: Journey) -> dict[str, float]:
    ours, kubectls = [], []
    with step("sign-in of a lead, a member and an approver"):
        journey.sign_in()
        journey.cluster_is_seen()
    with step("request, approval, a namespace that is ready; and the same with kubectl"):
        for number in range(1, ROUNDS + 1):
            request = journey.submit(f"smoke-{number}")
            namespace, took = journey.approve(request)
            ours.append(took)
            kubectls.append(journey.kubectl_apply(namespace, f"kubectl-{number}"))
    with step("a member's pod, and its use on the stream"):
        told = journey.pod_is_told(namespace)
    with step("a pod over quota, another team's pod and the portal's token are refused"):
        journey.others_are_refused(namespace)
    return {
        "approve_to_ready_ms": round(statistics.median(ours), 1),
        "pod_to_stream_ms": round(told, 1),
        "kubectl_apply_ms": round(statistics.median(kubectls), 1),
    }


def _condition(namespace: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((c for c in namespace["conditions"] if c["type"] == kind), {})


def _wait(holds: Callable[[], bool], words: str | Callable[[], str], timeout: float = 60) -> None:
    end = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > end:
            raise Unexpected(words if isinstance(words, str) else words())
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
