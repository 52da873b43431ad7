"""What a server is told: flags before the environment, the environment before a file, a file before defaults."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tarry.live.stores import POWER
from tarry.live.values import brief

PREFIX = "TARRY_SERVE_"


class Settings(BaseModel):
    """What a server is told; every field is a flag, a variable ``TARRY_SERVE_…`` and a key of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    store: str = Field("sqlite:///tarry.db", description="Where joins and sessions are kept.")
    host: str = Field("127.0.0.1", description="The address to listen at.")
    port: int = Field(8731, ge=0, le=65535, description="The port to listen at (0: one that is free).")
    workers: int = Field(1, ge=1, le=64, description="Processes; they share the store.")
    tokens: Path | None = Field(None, description="The file of tokens (default: beside the SQLite file).")
    durability: str = Field(POWER, description="What a call survives: power (its loss) or process (only our end).")
    certificate: Path | None = Field(None, description="TLS: the certificate chain, in PEM.")
    key: Path | None = Field(None, description="TLS: the private key, in PEM.")
    origins: tuple[str, ...] = Field((), description="Origins of other pages that may call (CORS); none by default.")
    proxies: tuple[str, ...] = Field((), description="Addresses of proxies whose X-Forwarded headers are believed.")
    max_body: int = Field(8 << 20, ge=1024, description="Bytes of a request's body.")
    rate: float = Field(0.0, ge=0, description="Requests a second for each token and process (0: no limit).")
    connections: int = Field(1024, ge=1, description="Requests that are answered at once, for each process.")
    patience: float = Field(
        30.0, gt=0, description="Seconds for a body to arrive, and for each part of an answer to be read."
    )
    drain: int = Field(20, ge=0, description="Seconds that calls under way are waited for at the end.")
    grouping: bool = Field(True, description="Whether calls that wait are written with one commit.")
    access_log: bool = Field(False, description="Write a line for every request.")

    @property
    def tokens_file(self) -> Path:
        """The file of tokens that was said, or one beside the store."""
        if self.tokens is not None:
            return self.tokens
        path = self.store.removeprefix("sqlite:///")
        return Path(f"{path}.tokens.toml") if path != self.store else Path("tarry.tokens.toml")

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the address."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def settle(flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ, file: Path | None = None) -> Settings:
    """Return the settings; raise ValueError about one that makes no sense or that nobody knows."""
    chosen = file or (Path(environment[f"{PREFIX}CONFIG"]) if f"{PREFIX}CONFIG" in environment else None)
    said: dict[str, Any] = {}
    if chosen is not None:
        try:
            said |= tomllib.loads(chosen.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"the settings in {chosen} cannot be read ({error})") from error
    for name, field in Settings.model_fields.items():
        variable = f"{PREFIX}{name.upper()}"
        if variable in environment:
            is_list = field.annotation == tuple[str, ...]
            said[name] = environment[variable].split(",") if is_list else environment[variable]
    said |= {name: value for name, value in flags.items() if value is not None}
    try:
        settings = Settings(**said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"setting {place}: {first['msg']}, got {brief(first['input'])}") from None
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    """Refuse settings that are dangerous or contradict each other."""
    from tarry.service.tokens import read_tokens

    if not settings.is_local and not read_tokens(settings.tokens_file):
        raise ValueError(
            f"host {settings.host} can be reached by others, and {settings.tokens_file} has no token: "
            "make one first (tarry token new), or listen at 127.0.0.1"
        )
    if (settings.certificate is None) != (settings.key is None):
        raise ValueError("TLS takes a certificate and its key: give both, or neither")
    if settings.store == "memory:":
        raise ValueError("what is kept in memory ends with its server: give sqlite:///file.db or postgresql://…")
