"""Children of a test: forked, so that nothing is imported or compiled again, and stopped by their ids."""

from __future__ import annotations

import os
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE = 120.0


class Child:
    """A forked process that runs a function; what it raises is raised by ``join``."""

    def __init__(self, work: Callable[[], Any], scratch: Path) -> None:
        self._trouble = scratch / f"trouble-{time.monotonic_ns()}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of threads; ours hold no lock
            self.id = os.fork()
        if self.id:
            return
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            self._trouble.write_text(traceback.format_exc())
        finally:
            os._exit(status)

    def kill(self) -> bool:
        """Kill -9; False if it had finished."""
        done, status = os.waitpid(self.id, os.WNOHANG)
        if done:
            self._check(status)
            return False
        os.kill(self.id, signal.SIGKILL)
        _, status = os.waitpid(self.id, 0)
        if not os.WIFSIGNALED(status):
            self._check(status)
            return False
        return True

    def join(self) -> None:
        """Wait for its end."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            done, status = os.waitpid(self.id, os.WNOHANG)
            if done:
                self._check(status)
                return
            time.sleep(0.005)
        self.kill()
        raise TimeoutError(f"process {self.id} has not finished in {PATIENCE:.0f} s")

    def _check(self, status: int) -> None:
        if status:
            told = self._trouble.read_text() if self._trouble.exists() else ""
            raise RuntimeError(f"process {self.id} ended with status {status}\n{told}")
