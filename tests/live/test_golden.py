"""Files written by every released version open and go on with exactly the plays and weights they would have had."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path

import pytest
from scenario import Client, Scenario

import tarry
from tarry.live.stores.base import FORMAT

FOLDER = Path(__file__).parent / "golden"
FILES = sorted(FOLDER.glob("*.db"))


def test_there_is_one_for_each_format():
    assert [path.name for path in FILES] == [f"format-{n}.db" for n in range(1, FORMAT + 1)]


@pytest.mark.parametrize("name", ["session", "join"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_files_go_on(path, name, tmp_path):
    before = sha256(path.read_bytes()).digest()
    store = f"sqlite:///{shutil.copy(path, tmp_path / path.name)}"
    expected = json.loads(path.with_suffix(".json").read_text())[name]
    kind = {"session": tarry.Session, "join": tarry.LabelJoin}[name]
    client = Client(Scenario(kind, {}, expected["script"]))
    with kind.open(store, name=name) as session:
        client.play(session)
        status = session.status()
        assert sum(status.fates.values()) == status.rounds
        assert status.balance == pytest.approx(1.0, abs=1e-9)
    assert client.answers == expected["answers"]
    assert sha256(path.read_bytes()).digest() == before


def test_bytes_laid_out_otherwise_are_refused(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'join.db'}"
    tarry.LabelJoin(4, rng=1, store=url).close()
    monkeypatch.setattr("tarry.live.core.describe", lambda _: "otherwise")
    with pytest.raises(tarry.errors.StoreError, match="another version of Tarry"):
        tarry.LabelJoin.open(url)
