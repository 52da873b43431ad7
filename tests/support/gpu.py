"""Compile for a GPU where there is none: what the compiler would ask the driver is answered here."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from tarry.kernel import cuda

CAPABILITY = (9, 0)


@pytest.fixture
def assembly(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], str]:
    """Return a function that gives the PTX of a compiled kernel; skip the test where the compiler is missing."""
    for package, module in (("numba-cuda", "numba_cuda"), ("nvidia-nvvm", "nvidia.cu13")):
        if find_spec(module.partition(".")[0]) is None or find_spec(module) is None:
            pytest.skip(f"{package} is not installed (pip install {package})")
    cuda.load_cuda()
    from numba.cuda import cuda_paths, dispatcher
    from numba.cuda.cudadrv import nvrtc

    device = SimpleNamespace(compute_capability=CAPABILITY)
    monkeypatch.setattr(cuda, "find_device", lambda: None)
    monkeypatch.setattr(cuda.cuda, "get_current_device", lambda: device)
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: device)
    # Of NVRTC, a compiler of C++, it asks only for what it is, and which architectures it knows.
    monkeypatch.setattr(cuda_paths, "_get_nvrtc_path", lambda: None)
    monkeypatch.setattr(nvrtc, "get_arch_option", lambda major, minor, _arch: f"compute_{major}{minor}")
    return lambda code: code.inspect_asm((*CAPABILITY, ""))
