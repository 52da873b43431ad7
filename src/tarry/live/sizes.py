"""How large will the file be? A formula, tested against real files."""

from __future__ import annotations

from tarry.checks import as_int
from tarry.learners import Idle
from tarry.live.buffers import CHUNK
from tarry.live.core import Slots
from tarry.live.tracker import RECENT
from tarry.tracking import Player

_EMPTY = 8 * 4096  # pages of the tables before anything is in them
_CHUNK_IN_FILE = 4096 / 4 * 1.01  # four to a page, and the pages that find them
_ROW = 100  # a row of a round, without its id, play and payload
# Rows of recent rounds lie side by side. Those of tracked rounds stay where their neighbours have gone, and SQLite
# joins pages only when they are two thirds empty; a long row wastes at most part of its last page.
_RECENT_ROOM, _TRACKED_ROOM, _WASTE = 1.1, 1.6, 1500


def expected_size(
    player: Player | None = None,
    *,
    capacity: int,
    rounds: int,
    memory: int = 1_000_000,
    id_bytes: int = 0,
    payload_bytes: int = 0,
) -> int:
    """Bytes of a SQLite file with one session (``player=None``: a join) after this many rounds, to about a fifth.

    State, three bits for each of the last ``memory`` rounds and eight bytes if they have ids of the caller's
    (``id_bytes`` long), the last 256 rounds with their plays, and the tracked ones with their payloads. A file keeps
    the room it once had; while it is in use a write-ahead log of some 4 MB lies beside it.

    >>> expected_size(capacity=64, rounds=1_000_000) // 1000
    487
    """
    player = Player(Idle()) if player is None else player
    slots, n = as_int(capacity, "capacity", 1), as_int(rounds, "rounds")
    remembered = min(n, as_int(memory, "memory", 1))
    chunks = Slots(player, slots).buffer.size // CHUNK + -(-8 * -(-remembered // 21) // CHUNK)
    if id_bytes:
        chunks += -(-8 * remembered // CHUNK)
    row = _ROW + id_bytes + 8 * player.learner.dimension
    held = row + payload_bytes
    rows = _RECENT_ROOM * min(remembered, RECENT) * row + min(n, slots) * min(_TRACKED_ROOM * held, held + _WASTE)
    return int(_EMPTY + chunks * _CHUNK_IN_FILE + rows)
