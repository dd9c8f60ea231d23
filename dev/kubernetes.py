"""A real Kubernetes control plane on loopback, with kwok as the kubelet of made-up nodes.

The parts are etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok, ready some
four seconds after the start. The folder keeps what is in etcd and the certificates between starts.
They end in the reverse order: the API server would wait a minute for its controllers, and etcd must
be last.
"""

import base64
import contextlib
import http.client
import json
import os
import ssl
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import trustme
import yaml

from dev.binaries import Binaries, find_or_build
from dev.idp import CLUSTER_CLIENT, IdP
from dev.nodes import Node
from dev.part import Part, Process, write
from dev.people import Person
from dev.tools import ROOT

# Groups and users of the provider carry no prefix: a RoleBinding names them as the provider does.
USER_PREFIX = GROUP_PREFIX = ""
# The defaults fill the status of 7 quotas a second, and an empty status limits nothing.
FAST_CONTROLLERS = [
    "--kube-api-qps=2000",
    "--kube-api-burst=4000",
    "--concurrent-resource-quota-syncs=20",
    "--concurrent-namespace-syncs=20",
]


class ApiError(Exception):
    """The API server refused; `code` is its HTTP status, the message its own words."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class ControlPlane(Part):
    """A control plane that trusts the provider's https issuer, where one is given.

    It begins with these nodes. `durable=False` spares etcd its fsyncs, for data that nobody keeps.
    """

    in_order = True

    def __init__(
        self,
        folder: Path,
        *,
        idp: IdP | None = None,
        nodes: Iterable[Node] = (),
        durable: bool = True,
    ) -> None:
        super().__init__(folder)
        self.idp, self.nodes, self.durable = idp, nodes, durable

    def start(self, binaries: Binaries | None = None) -> Self:
        """Starts what was found or built; without `binaries`, may build for minutes first."""
        binaries = binaries or find_or_build()
        self.keep("kubectl", str(binaries.kubernetes / "kubectl"))
        self._make_certificates()
        self.port("etcd")
        self.port("etcd-peer")
        self.port("apiserver")
        for user in ("controller-manager", "scheduler", "kwok"):
            self._write_kubeconfig(user)
        etcd = self._start_etcd(binaries)
        apiserver = self._start_apiserver(binaries, etcd)
        apiserver.wait_until(self._is_ready)
        controllers = self._start_controllers(binaries)
        # The controller-manager works when the first of its objects is there.
        controllers.wait_until(
            lambda: self.exists("/api/v1/namespaces/default/serviceaccounts/default")
        )
        self.add_nodes(self.nodes)
        # Last, so that who waits for this file finds a cluster with nodes.
        self._write_kubeconfig("admin")
        return self

    # --- where it is ---

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig: one file with everything in it."""
        return self.folder / "admin.kubeconfig"

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self.port_of('apiserver')}"

    @property
    def ca(self) -> Path:
        """The certificate of the CA that the API server's own is from."""
        return self.folder / "pki" / "ca.pem"

    # --- asking it ---

    def kubectl(self, *args: str, stdin: str | None = None, check: bool = True) -> str:
        """Runs kubectl as the administrator; what it says, on both outputs."""
        done = subprocess.run(
            [self.recall("kubectl", "kubectl"), *args],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if check and done.returncode:
            raise RuntimeError(f"kubectl {' '.join(args)}: {done.stdout}")
        return done.stdout

    def api(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> Any:
        """One call of the API, as the administrator or with a bearer token. Raises ApiError."""
        context = ssl.create_default_context(cafile=str(self.ca))
        sent = {"Content-Type": "application/json", **headers}
        if token is None:
            pki = self.folder / "pki"
            context.load_cert_chain(pki / "admin.pem", pki / "admin.key")
        else:
            sent["Authorization"] = f"Bearer {token}"
        port = self.port_of("apiserver")
        with contextlib.closing(
            http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
        ) as connection:
            connection.request(method, path, json.dumps(body) if body is not None else None, sent)
            response = connection.getresponse()
            text = response.read().decode()
        parsed = json.loads(text) if text.startswith("{") else text
        if response.status >= 400:
            said = parsed.get("message", text) if isinstance(parsed, dict) else text
            raise ApiError(response.status, said)
        return parsed

    def exists(self, path: str) -> bool:
        """Whether the API server has this object; False while it does not answer."""
        try:
            self.api("GET", path)
        except (ApiError, OSError, http.client.HTTPException):
            return False
        return True

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        """Adds nodes that are not there yet."""
        for node in nodes:
            try:
                self.api("POST", "/api/v1/nodes", node.manifest())
            except ApiError as error:
                if error.code != 409:
                    raise

    # --- starting it ---

    def _start_etcd(self, binaries: Binaries) -> Process:
        client = f"http://127.0.0.1:{self.port_of('etcd')}"
        peer = f"http://127.0.0.1:{self.port_of('etcd-peer')}"
        argv: list[str | Path] = [
            binaries.kubernetes / "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--log-level=warn",
        ]
        if not self.durable:
            argv.append("--unsafe-no-fsync")
        return self.run("etcd", argv, patience=20)

    def _start_apiserver(self, binaries: Binaries, etcd: Process) -> Process:
        pki = self.folder / "pki"
        argv: list[str | Path] = [
            binaries.kubernetes / "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.port_of('etcd')}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port_of('apiserver')}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            f"--client-ca-file={self.ca}",
            f"--tls-cert-file={pki / 'apiserver.pem'}",
            f"--tls-private-key-file={pki / 'apiserver.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki / 'service-accounts.pem'}",
            f"--service-account-signing-key-file={pki / 'service-accounts.key'}",
        ]
        if self.idp is not None:
            argv.append(f"--authentication-config={self._write_authentication(self.idp)}")
        return self.run("kube-apiserver", argv, patience=20)

    def _start_controllers(self, binaries: Binaries) -> Process:
        pki = self.folder / "pki"
        common = ["--leader-elect=false", "--secure-port=0"]
        manager = self.run(
            "kube-controller-manager",
            [
                binaries.kubernetes / "kube-controller-manager",
                f"--kubeconfig={self.folder / 'controller-manager.kubeconfig'}",
                f"--root-ca-file={self.ca}",
                f"--service-account-private-key-file={pki / 'service-accounts.key'}",
                "--use-service-account-credentials",
                *FAST_CONTROLLERS,
                *common,
            ],
        )
        scheduler = self.folder / "scheduler.kubeconfig"
        self.run(
            "kube-scheduler",
            [binaries.kubernetes / "kube-scheduler", f"--kubeconfig={scheduler}", *common],
        )
        kwok: list[str | Path] = [
            binaries.kwok / "kwok",
            f"--kubeconfig={self.folder / 'kwok.kubeconfig'}",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            "--node-lease-duration-seconds=40",
        ]
        kwok += [f"--config={stage}" for stage in binaries.stages]
        self.run("kwok", kwok)
        return manager

    def _is_ready(self) -> bool:
        try:
            return bool(self.api("GET", "/readyz") == "ok")
        except (ApiError, OSError, http.client.HTTPException):
            return False

    def _write_authentication(self, idp: IdP) -> Path:
        """The API server reads this file again whenever it changes."""
        config = {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AuthenticationConfiguration",
            "jwt": [
                {
                    "issuer": {
                        "url": idp.cluster_issuer,
                        "audiences": [CLUSTER_CLIENT],
                        "certificateAuthority": idp.ca.read_text(),
                    },
                    "claimMappings": {
                        "username": {"claim": "sub", "prefix": USER_PREFIX},
                        "groups": {"claim": "groups", "prefix": GROUP_PREFIX},
                    },
                }
            ],
        }
        return write(self.folder / "authentication.yaml", yaml.safe_dump(config))

    def _make_certificates(self) -> None:
        if self.ca.exists():
            return
        pki = self.folder / "pki"
        ca = trustme.CA(organization_name="Berth demo", organization_unit_name="Kubernetes")
        users = {
            "admin": ca.issue_cert(
                "admin.invalid", common_name="admin", organization_name="system:masters"
            ),
            "kwok": ca.issue_cert(
                "kwok.invalid", common_name="kwok", organization_name="system:masters"
            ),
        }
        for name in ("controller-manager", "scheduler"):
            users[name] = ca.issue_cert(f"{name}.invalid", common_name=f"system:kube-{name}")
        users["apiserver"] = ca.issue_cert("127.0.0.1", "localhost", "kubernetes.default.svc")
        users["service-accounts"] = ca.issue_cert("service-accounts.invalid")
        for name, cert in users.items():
            write(pki / f"{name}.key", cert.private_key_pem.bytes(), mode=0o600)
            write(pki / f"{name}.pem", b"".join(part.bytes() for part in cert.cert_chain_pems))
        write(self.ca, ca.cert_pem.bytes())

    def kubeconfig_of(self, person: Person) -> Path:
        """A kubeconfig of this person, which gets a token from the provider for each command."""
        assert self.idp is not None
        plugin = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-m", "dev.credential", str(self.idp.folder), person.subject],
            "env": [{"name": "PYTHONPATH", "value": str(ROOT)}],
            "interactiveMode": "Never",
        }
        return self._write_kubeconfig(person.subject, {"exec": plugin})

    def _write_kubeconfig(self, user: str, credentials: dict[str, Any] | None = None) -> Path:
        pki = self.folder / "pki"

        def inline(path: Path) -> str:
            return base64.b64encode(path.read_bytes()).decode()

        credentials = credentials or {
            "client-certificate-data": inline(pki / f"{user}.pem"),
            "client-key-data": inline(pki / f"{user}.key"),
        }
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "berth",
            "contexts": [{"name": "berth", "context": {"cluster": "berth", "user": user}}],
            "clusters": [
                {
                    "name": "berth",
                    "cluster": {
                        "server": self.server,
                        "certificate-authority-data": inline(self.ca),
                    },
                }
            ],
            "users": [{"name": user, "user": credentials}],
        }
        return write(self.folder / f"{user}.kubeconfig", yaml.safe_dump(config), mode=0o600)
