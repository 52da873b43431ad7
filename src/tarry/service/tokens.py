"""Bearer tokens: kept as hashes in a TOML file, with scopes for all joins and sessions or for some.

A token is 256 random bits, so that one round of SHA-256 is enough: there is nothing to guess. The file is read again
whenever it has changed.
"""

from __future__ import annotations

import hmac
import logging
import os
import re
import secrets
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from tarry.checks import as_choice
from tarry.errors import ArgumentError
from tarry.live.calls import SCOPES, WRITE

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

_logger = logging.getLogger("tarry.service")
_PREFIX = "tarry_"
_AGAIN = 1.0  # seconds between two looks at the file
_NAME = re.compile(r"[\w.-]{1,64}")


class Token(NamedTuple):
    """Who may do what: a scope, for the joins and sessions of these names, or for all (None)."""

    name: str
    digest: bytes
    scope: str
    only: frozenset[str] | None = None

    def allows(self, scope: str, name: str | None = None) -> bool:
        """Return whether this scope is granted for a name; without one, for what is not about a single object."""
        return self.reaches(scope) and (self.only is None or (name is not None and name in self.only))

    def reaches(self, scope: str) -> bool:
        """Return whether this scope is granted for any name."""
        return SCOPES.index(scope) <= SCOPES.index(self.scope)


def digest_of(text: str) -> bytes:
    """Return what is kept of a token."""
    return sha256(text.encode("utf-8", "surrogateescape")).digest()


class Tokens:
    """The tokens of a file; of an address that others cannot reach, there may be none, and then nobody is let in."""

    def __init__(self, path: Path) -> None:
        self.path, self._looked, self._known = path, -_AGAIN, (0, 0, 0)
        self._tokens: tuple[Token, ...] = ()
        self._trouble = ""  # with the file, as it was logged
        self._load()

    def find(self, text: str) -> Token | None:
        """Return the token of this text; every one is compared, in a time that does not tell how far they agree."""
        self._read()
        wanted, found = digest_of(text), None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, wanted):
                found = token
        return found

    def __len__(self) -> int:
        return len(self._tokens)

    def _read(self) -> None:
        """Read the file again if it has changed; keep the tokens there were while it cannot be read."""
        now = monotonic()
        if now - self._looked < _AGAIN:
            return
        self._looked = now
        try:
            self._load()
            self._trouble = ""
        except (OSError, ValueError) as error:
            if str(error) != self._trouble:
                self._trouble = str(error)
                _logger.error("the tokens stay as they were, for their file cannot be read: %s", error)

    def _load(self) -> None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._tokens, self._known = (), (0, 0, 0)
            return
        mark = (found.st_mtime_ns, found.st_ino, found.st_size)
        if mark != self._known:
            self._tokens, self._known = read_tokens(self.path), mark


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Return the tokens of a file; raise ValueError about a file that makes no sense."""
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8")).get("token", {})
        return tuple(_token(name, entry) for name, entry in listed.items())
    except FileNotFoundError:
        return ()
    except (tomllib.TOMLDecodeError, AttributeError, TypeError, KeyError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no file of tokens ({error}): make one with tarry token new") from error


def _token(name: str, entry: dict[str, Any]) -> Token:
    only = entry.get("only")
    scope = as_choice(entry["scope"], f"token.{name}.scope", SCOPES)
    digest = bytes.fromhex(entry["sha256"])
    if len(digest) != sha256().digest_size:
        raise ValueError(f"the hash of the token {name!r} has {len(digest)} bytes, not {sha256().digest_size}")
    return Token(name, digest, scope, None if only is None else frozenset(only))


def add_token(path: Path, name: str, scope: str | None = None, only: list[str] | None = None) -> str:
    """Put a new token into a file and return its text, which is kept nowhere; one of this name is replaced.

    Unsaid, the scope and the names are those of the one that is replaced, else ``write`` for everything.
    """
    if not _NAME.fullmatch(name):
        raise ArgumentError("name", "must be 1 to 64 letters, digits, dots, strokes or underscores", name)
    text = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    with _locked(path):
        known = {token.name: token for token in read_tokens(path)}
        before = known.pop(name, Token(name, b"", WRITE, None))
        allowed = before.scope if scope is None else as_choice(scope, "scope", SCOPES)
        new = Token(name, digest_of(text), allowed, frozenset(only) if only else before.only)
        _write(path, (*known.values(), new))
    return text


def remove_token(path: Path, name: str) -> None:
    """Take a token out of a file; raise ValueError if there is none of this name."""
    with _locked(path):
        tokens = read_tokens(path)
        if all(token.name != name for token in tokens):
            known = ", ".join(token.name for token in tokens) or "none"
            raise ValueError(f"{path} has no token {name!r}, only {known}")
        _write(path, tuple(token for token in tokens if token.name != name))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from changing a file of tokens between reading and writing it."""
    with path.with_name(f"{path.name}.lock").open("a") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)  # let go of when the file is closed
        yield


def _write(path: Path, tokens: tuple[Token, ...]) -> None:
    """Write a file of tokens that only its owner can read, all of it or nothing."""
    lines = ["# Tokens of tarry serve, as hashes. Made and removed by tarry token; read again when it changes."]
    for token in tokens:
        lines += ["", f'[token."{token.name}"]', f'sha256 = "{token.digest.hex()}"', f'scope = "{token.scope}"']
        if token.only is not None:
            lines.append(f"only = [{', '.join(map(_quoted, sorted(token.only)))}]")
    new = path.with_name(f"{path.name}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def _quoted(text: str) -> str:
    escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or c in '"\\\x7f' else c for c in text)
    return f'"{escaped}"'
