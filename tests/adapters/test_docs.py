"""The code in docs/adapters.md runs."""

import importlib.util
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)


@pytest.mark.parametrize("index", range(len(BLOCKS)))
def test_block_runs(index, capsys):
    if "import torch" in BLOCKS[index] and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    exec(compile(BLOCKS[index], f"docs/adapters.md, block {index}", "exec"), {"__name__": "block"})
    assert capsys.readouterr().out


def test_every_adapter_is_shown():
    assert len(BLOCKS) >= 6
    for name in ("river", "sklearn", "torch", "vw", "gym"):
        assert any(f"tarry.adapters.{name}" in block for block in BLOCKS), name
