"""HTTP to one API server: credentials, certificates, timeouts, one pool of kept-alive connections.

Rests on the `kubernetes` package's async client, which knows kubeconfigs, tokens and exec plugins.
That package takes a second to import, so it is imported when a cluster is first spoken to.
"""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from cluster.errors import ClusterError, Silent, Unreachable, from_status

CONNECT_TIMEOUT_S = 5.0
# Admission webhooks may take 10 s each; the server then says so itself.
REQUEST_TIMEOUT_S = 20.0
POOL_SIZE = 64

# What OpenSSL objects to only when asked to be strict (x509_vfy.h, from X509_V_ERR_INVALID_CA on).
_STRICT_ONLY = range(80, 95)


@dataclass(frozen=True)
class Connection:
    """How to reach a cluster.

    `kubeconfig` is a path; empty means the service account of the pod we run in. `context` is one
    of the kubeconfig, empty means its current one. `strict_certificates`: check certificates as
    strictly as Python 3.13 does, which refuses many clusters' own CA (one without a key usage, for
    example). Without it the usual checks remain.
    """

    kubeconfig: str = ""
    context: str = ""
    strict_certificates: bool = True


class Transport:
    """Requests to one cluster. Belongs to the event loop it is first used on."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._api: Any = None
        self._retired: Any = None
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        """Close every connection."""
        for api in (self._api, self._retired):
            if api is not None:
                await api.close()
        self._api = self._retired = None

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Any:
        """The answer's JSON. Raises ClusterError.

        Nothing is repeated, except that a 401 (so nothing was done) makes the credentials be read
        again, once: tokens rotate.
        """
        async with self.stream(
            method,
            path,
            query=query,
            body=body,
            content_type=content_type,
            total_s=REQUEST_TIMEOUT_S,
        ) as response:
            try:
                return json.loads(await response.read())
            except ValueError as error:
                raise Unreachable(f"The answer to {method} {path} is not JSON.") from error

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        total_s: float | None = None,
        idle_s: float | None = None,
    ) -> AsyncIterator[Any]:
        """The answer as an aiohttp response whose body is still to be read.

        `total_s` bounds the whole exchange, `idle_s` the silence between two pieces of it. Raises
        ClusterError, also while the body is read inside the block.
        """
        import aiohttp

        limits = aiohttp.ClientTimeout(
            total=total_s,
            sock_connect=CONNECT_TIMEOUT_S,
            sock_read=idle_s,
        )
        headers = {"Accept": "application/json", "Content-Type": content_type}
        try:
            api = await self._current()
            response = await self._send(api, method, path, query, headers, body, limits)
            if response.status == 401:
                response.release()
                api = await self._renewed(api)
                response = await self._send(api, method, path, query, headers, body, limits)
            async with response:
                if response.status >= 400:
                    raise await _refusal(response)
                yield response
        except ClusterError:
            raise
        except aiohttp.SocketTimeoutError as error:
            raise Silent(f"Nothing came for {idle_s} seconds.") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._unreachable(error) from error

    async def _send(
        self,
        api: Any,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        headers: Mapping[str, str],
        body: Any,
        limits: Any,
    ) -> Any:
        prepared = await api.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params=dict(headers),
            body=body,
            auth_settings=["BearerToken"],
        )
        answer = await api.call_api(*prepared, _request_timeout=limits)
        return answer.response

    async def _current(self) -> Any:
        if self._api is None:
            async with self._opening:
                if self._api is None:
                    self._api = await self._open()
        return self._api

    async def _renewed(self, refused: Any) -> Any:
        """A client with freshly read credentials, unless somebody else has read them meanwhile."""
        async with self._opening:
            if self._api is refused:
                fresh = await self._open()
                # What is under way on the old one goes on; it is closed at the next renewal.
                if self._retired is not None:
                    await self._retired.close()
                self._retired, self._api = self._api, fresh
        return self._api

    async def _open(self) -> Any:
        from kubernetes.aio import client, config

        from_kubeconfig: Any = config.load_kube_config
        from_pod: Any = config.load_incluster_config
        settings = client.Configuration(connection_pool_maxsize=POOL_SIZE)
        try:
            if self.connection.kubeconfig:
                await from_kubeconfig(
                    config_file=self.connection.kubeconfig,
                    context=self.connection.context or None,
                    client_configuration=settings,
                    persist_config=False,
                )
            else:
                from_pod(client_configuration=settings)
            settings.disable_strict_ssl_verification = not self.connection.strict_certificates
            # The library would repeat some requests by itself; what to repeat is ours to decide.
            settings.retries = None
            api = client.ApiClient(settings)
        except Exception as error:  # a kubeconfig can be wrong in any way
            where = self.connection.kubeconfig or "the pod's service account"
            raise Unreachable(f"The credentials in {where} cannot be used: {error}") from error
        api.user_agent = "berth"
        return api

    def _unreachable(self, error: Exception) -> Unreachable:
        certificate = getattr(error, "certificate_error", None) or error.__cause__ or error
        if isinstance(certificate, ssl.SSLCertVerificationError):
            words = f"The cluster's certificate is not accepted: {certificate.verify_message}."
            if self.connection.strict_certificates and certificate.verify_code in _STRICT_ONLY:
                words += (
                    " Only Python's strict check objects; the cluster's setting"
                    " strict_certificates turns that off."
                )
            return Unreachable(words)
        if isinstance(error, TimeoutError):
            return Unreachable("The cluster did not answer in time.")
        return Unreachable(f"The cluster cannot be reached: {error or type(error).__name__}")


async def _refusal(response: Any) -> ClusterError:
    text = await response.text(errors="replace")
    try:
        status = json.loads(text)
    except ValueError:
        status = text
    after = response.headers.get("Retry-After", "")
    error = from_status(
        response.status, status, retry_after=float(after) if after.isdecimal() else None
    )
    if response.status == 401:
        words = f"The cluster does not accept Berth's own credentials: {error}"
        return type(error)(words, retry_after=error.retry_after)
    return error
