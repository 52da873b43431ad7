"""A PostgreSQL server for the tests: Debian's own, on loopback, in a temporary folder, for one pytest process."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
from system import find

OWNER = "postgres"  # the server refuses to run as root; Debian's package makes this user


class Server:
    """Started when made; ``url(schema)`` makes a schema of that name."""

    def __init__(self) -> None:
        self.binaries = find("postgresql").parent
        self.user = pwd.getpwnam(OWNER) if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="tarry-postgres-"))
        self.data = self.folder / "data"
        if self.user:
            os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        self._run(
            "initdb", "--auth=trust", "--username=tarry", "--no-sync", "-E", "UTF8", "--locale=C", "-D", self.data
        )
        self.start()

    def start(self, port: int | None = None) -> None:
        """Start the server, on a port that is free now or the one given, and wait until it answers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = port or free.getsockname()[1]
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.folder}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.binaries / "postgres", "-D", self.data, *options], stdout=log, stderr=log, **self._as_owner()
            )
        for _ in range(300):
            if self._run("pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port), check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}")

    def url(self, schema: str) -> str:
        """The address of a new, empty place: a schema, which costs less than a database."""
        address = f"postgresql://tarry@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        return f"{address}?options=-csearch_path%3D{schema}"

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends it in order, SIGQUIT as a crash would."""
        self.process.send_signal(how)
        self.process.wait(60)

    def remove(self) -> None:
        """Stop it for good and remove its folder."""
        if self.process.poll() is None:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)

    def _run(self, name: str, *arguments: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        command = [str(self.binaries / name), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, **self._as_owner())
        if check and done.returncode:
            raise RuntimeError(f"{name} failed: {done.stderr or done.stdout}")
        return done

    def _as_owner(self) -> dict[str, object]:
        who = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        return {"cwd": "/", **who}
