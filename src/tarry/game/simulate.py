"""simulate: a game, a player, and many seeds in threads that can be interrupted."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tarry.checks import as_choice, as_int
from tarry.errors import ArgumentError, Interrupted
from tarry.game.blocks import Crew, Part, is_search_short, is_worth_compiling, kind_of_run, own_bytes
from tarry.game.hindsight import Comparator, Stopped, comparing, compile_passes, has_closed_form
from tarry.game.record import Record
from tarry.game.run import Played, Run, Stop, prepare, refuse_if_large
from tarry.kernel.compile import in_python, numba_side
from tarry.learners.base import RecordedDirections
from tarry.losses.drawn import table_bytes
from tarry.schedulers.base import RecordedLosers, RecordedProxies, RecordedUniforms
from tarry.tracking import Draws, Player, keyed_draws

logger = logging.getLogger("tarry")
_said: set[tuple[str, str]] = set()  # what was logged: a sweep plays a thousand records

POLL_SECONDS = 0.1  # between looks at the threads: an interrupt is heard within it on every system
TOGETHER_BYTES = 1 << 29  # of games of several matches
SEED_BYTES = 200  # that a record keeps of a seed, besides its checkpoints
LARGEST_SEED = (1 << 63) - 1  # what tables of results hold
LENGTH_ERROR = 1e-9  # of recorded unit vectors, whose entries are rounded
SCHEDULING: dict[str, Any] = {"uniforms": RecordedUniforms, "proxy_delays": RecordedProxies, "lost": RecordedLosers}
MISSING = {
    "proxy_delays": "draws no proxy delays: record uniforms for it",
    "lost": "loses nobody by draw: record uniforms for it, or use VarOpt",
}

DEVICES = ("cpu", "cuda", "auto")
Progress = Callable[[int, int], None]  # told the rounds done and all there are
# Of a block of seeds; the function is told rounds as they are done.
Task = Callable[[Sequence[int], Stop, Callable[[int], None]], list[Played]]
Size = Callable[[int], int]  # of the next block, where so many seeds remain


def simulate(
    game: Any,
    player: Any,
    seeds: int | Iterable[int] = 1,
    *,
    games: Callable[[int], Any] | None = None,
    draws: Recorded | None = None,
    comparator: str | ArrayLike | Comparator | None = "best",
    checkpoints: int = 100,
    bound: bool = True,
    keep_rounds: bool = False,
    threads: int | None = None,
    device: str = "cpu",
    progress: Progress | None = None,
    allow_large: bool = False,
    debug: bool = False,
) -> Record:
    """Play a game once per seed, compiled and in threads; a short one in Python, which needs no compiler.

    ``seeds`` is a number (0, 1, …) or the seeds themselves; they draw the player only, so where it draws nothing all
    seeds are alike and ± is 0. ``games``, a function of the seed, draws the game too (give ``game=None``); ``player``
    may be a function of the game. ``draws`` replaces random draws by recorded ones. ``keep_rounds`` keeps every play,
    loss, weight and event (memory grows with the horizon). ``bound`` keeps what certificates are made of, at
    O(capacity) per observed label, and asks supervised losses for their gradient bound, one pass over a game's
    rounds. ``progress(done, total)`` is called with rounds.

    ``comparator`` is what regret is measured against: ``"best"``, the best fixed action, found once for all games of
    equal domain, losses and horizon; an action; a path with an action for each round; one of ``record.comparators``; or
    None for losses alone, where nothing is searched for and regret is NaN.

    ``device="cuda"`` plays on a GPU, one thread a seed: the same decisions, sums to rounding. ``"auto"`` does where
    there is one.

    ``debug=True`` plays the same rounds in plain Python and checks every index, slot and answer of a verb: what a
    member does wrong is a :class:`tarry.errors.MemberError` with its verb and line. Use it with few rounds.

    Interrupting raises :class:`tarry.errors.Interrupted` within a second, with the finished seeds.
    """
    as_choice(device, "device", DEVICES)
    options: dict[str, Any] = {"draws": draws, "checkpoints": checkpoints, "bound": bound}
    options |= {"keep_rounds": keep_rounds, "allow_large": allow_large, "debug": debug}
    if debug and device != "cpu":
        raise ArgumentError("debug", "plays in plain Python", debug, "leave device out")
    if progress is not None and not callable(progress):
        raise ArgumentError("progress", "must be a function that is told the rounds done and their total", progress)
    threads = 1 if debug else threads
    with in_python(debug):  # a compiler would refuse a member before debug mode names its line
        match = Match(game, player, seeds, games=games, threads=threads, comparator=comparator, **options)

    return play_match(match, _is_short(match.first, len(match.seeds), device), device, progress)


def _is_short(part: Part, seeds: int, device: str) -> bool:
    """Return whether so many seeds are played in Python rather than compiled."""
    return device != "cuda" and not is_worth_compiling(part, seeds)


def _is_quick(run: Run, is_short: bool, searches: int) -> bool:
    """Return whether comparators are found in Python: after short games where searches are short too."""
    return is_search_short(run.game, searches) if is_short else run.is_plain and has_closed_form(run.game)


def load_device() -> Any:
    """Return the module that plays on a GPU; it needs Numba, which is loaded to the end whatever is interrupted."""
    numba_side()
    from tarry.game import device

    return device


def _crew_on(device: str, part: Part, seeds: int, own: int) -> Any:
    """Return who plays seeds of one kind: a GPU, or threads; ``own`` bytes are each seed's own beside its buffers."""
    gpu = None if device == "cpu" else load_device().gpu_for(device, part, seeds, own)
    # Threads draw the rows of each seed's game into a table; on a GPU every thread draws them as it plays.
    return gpu or Crew(part, seeds, own and own + table_bytes(part.run.game.losses, part.run.horizon))


def play_match(match: Match, is_short: bool = False, device: str = "cpu", progress: Progress | None = None) -> Record:
    """Return the record of a match; a short one is played in Python, and its comparator too where that is quick."""
    seed_numbers, first = match.seeds, match.first.in_python() if is_short else match.first
    run = first.run
    is_quick = _is_quick(run, is_short, match.games)
    try:
        begun = _crew_on(device, first, len(seed_numbers), match.own)
        with in_python(is_quick):
            find = match.comparing()
            if match.comparator is not None and not is_quick and not run.is_debugged:
                compile_passes(match.met)
    except KeyboardInterrupt:
        raise Interrupted("interrupted before the first round, while compiling: nothing is kept") from None
    workers = run.threads if isinstance(begun, Crew) else 1

    def play(seeds: Sequence[int], stop: Stop, report: Callable[[int], None]) -> list[Played]:
        with in_python(run.is_debugged):
            parts = [part.in_python() if is_short else part for part in match.parts(seeds)]
        results = [result for piece in begun.play(parts, stop, report) for result in piece.by_game()]
        with in_python(is_quick):
            return [piece._replace(best=find(piece.run.game, stop.is_set)) for piece in results]

    played, interrupted = in_threads(
        play, seed_numbers, workers, begun.next_size, progress, len(seed_numbers) * run.horizon
    )
    record = Record.of(played) if played else None
    if interrupted or record is None:
        what = "and are kept in .record" if played else "so nothing is kept"
        finished = sum(len(piece.seeds) for piece in played)
        raise Interrupted(f"interrupted: {finished} of {len(seed_numbers)} seeds were finished, {what}", record)
    return tell_warnings(record)


def tell_warnings(record: Record) -> Record:
    """Log what a reader should know before trusting the numbers, each kind of it once; return the record."""
    name = f"{type(record.player.learner).__name__} with {type(record.player.scheduler).__name__}"
    for warning in record.warnings:
        kind = (name, warning.rpartition(": ")[2])  # the way out: what comes before it has numbers of the run
        if kind not in _said:
            _said.add(kind)
            logger.warning("%s: %s", name, warning)
    return record


class Match:
    """A game, or a function of the seed that draws one, against a player under some seeds; checked, not yet played."""

    def __init__(
        self,
        game: Any,
        player: Any,
        seeds: int | Iterable[int],
        *,
        games: Callable[[int], Any] | None = None,
        draws: Recorded | None = None,
        threads: int | None = 1,
        comparator: Any = "best",
        **kept: Any,
    ) -> None:
        if (game is None) == (games is None):
            raise ValueError("give a game, or game=None and games=, a function of the seed, and not both")
        if games is not None and not callable(games):
            raise ArgumentError("games", "must be a function of the seed that returns a game", games)
        if not kept.get("allow_large"):
            _refuse_many(seeds, kept.get("checkpoints", 1))
        self.seeds, self._player, self._games, self._draws = seed_list(seeds), player, games, draws
        self.comparator = comparator
        self._kept = kept | {"threads": worker_count(self.seeds, threads)}
        self.first = self._ready(game if games is None else games(self.seeds[0]), self.seeds[:1])
        run = self.first.run
        if run.keep_rounds and not run.allow_large:
            cells = len(self.seeds) * run.horizon * (run.game.dimension + 22)
            refuse_if_large(8 * cells, "keeping every round")

    @property
    def met(self) -> Any:
        """The first seed's game, what reacts in it listed."""
        return self.first.run.game.as_met(*self.first.fresh.world.reactions[2:])

    def comparing(self) -> Callable[[Any, Callable[[], bool]], Comparator | None]:
        """Return what finds the comparator of a game; raise ArgumentError where none can be."""
        return comparing(self.comparator, self.met, self.first.run.checkpoints)

    @property
    def games(self) -> int:
        """How many games the seeds meet: one, or one each."""
        return 1 if self._games is None else len(self.seeds)

    @property
    def own(self) -> int:
        """The bytes that each seed has of its own: those of its game, where it has one."""
        return 0 if self._games is None else own_bytes(self.first.run)

    @property
    def nbytes(self) -> int:
        """The bytes of all games."""
        return own_bytes(self.first.run) * self.games

    def parts(self, seeds: Sequence[int], is_alone: bool = True) -> list[Part]:
        """Return what these seeds play, as blocks take it; ``is_alone`` if no other match shares the blocks."""
        if self._games is None:
            part = self.first._replace(seeds=seeds)
            return [part if is_alone else part._replace(kind=kind_of_run(part.run, part.fresh))]
        parts = [self.first if seed == self.seeds[0] else self._ready(self._games(seed), [seed]) for seed in seeds]
        for part in parts:
            for shared in ("horizon", "dimension", "capacity", "feedback"):
                first_value, other = (getattr(run.game, shared) for run in (self.first.run, part.run))
                if first_value != other:
                    raise ValueError(f"games must share one {shared}, got {first_value!r} and {other!r}")
        return parts

    def _ready(self, game: Any, seeds: Sequence[int]) -> Part:
        run = prepare(game, self._player, **self._kept)
        recorded = draws_for(self._draws, run.player, run.horizon)
        if self._games is None:
            return Part(run, seeds, run.start(recorded))
        # Backlogs differ, and blocks are of one shape: rounded up, most games have as many slots.
        slots = run.slots if run.game.capacity else min(run.horizon, 1 << (run.slots - 1).bit_length())
        fresh = run.start(recorded, slots)
        return Part(run, seeds, fresh, kind_of_run(run, fresh))


def play_matches(
    matches: Iterable[Match], device: str = "cpu", report: Callable[[int], None] = lambda _: None
) -> Iterator[Record]:
    """Yield the record of each match; parts of one kind are played together, whatever match they are of.

    So many matches are held at once as games of half a gigabyte have. ``report`` is told rounds as they are done, and
    may raise an error to stop.
    """
    held, size = list[Match](), 0
    for match in matches:
        held.append(match)
        size += match.nbytes
        if size >= TOGETHER_BYTES:
            yield from _play_held(held, device, report)
            held, size = [], 0
    yield from _play_held(held, device, report)


def _play_held(matches: list[Match], device: str, report: Callable[[int], None]) -> list[Record]:
    by_kind: dict[Any, list[tuple[int, Part]]] = {}
    for i, match in enumerate(matches):
        for part in match.parts(match.seeds, is_alone=False):
            by_kind.setdefault(part.kind, []).append((i, part))
    played: list[list[Played]] = [[] for _ in matches]
    for parts in by_kind.values():
        seeds, own = sum(len(part.seeds) for _, part in parts), max(matches[i].own for i, _ in parts)
        is_short = _is_short(parts[0][1], seeds, device)
        for i, piece in _play_parts(parts, own, device, report, is_short):
            with in_python(_is_quick(piece.run, is_short, sum(match.games for match in matches))):
                find = matches[i].comparing()
                played[i] += [result._replace(best=find(result.run.game, lambda: False)) for result in piece.by_game()]
    for match, results in zip(matches, played, strict=True):
        order = {seed: i for i, seed in enumerate(match.seeds)}
        results.sort(key=lambda piece: order[piece.seeds[0]])
    return [tell_warnings(Record.of(results)) for results in played]


def _play_parts(
    parts: list[tuple[int, Part]], own: int, device: str, report: Callable[[int], None], is_short: bool
) -> list[tuple[int, Played]]:
    """Return what numbered parts of one kind leave."""
    if is_short:
        parts = [(i, part.in_python()) for i, part in parts]
    waiting, results = parts[::-1], list[tuple[int, Played]]()
    left = sum(len(part.seeds) for _, part in parts)
    crew = _crew_on(device, parts[0][1], left, own)
    while waiting:
        block = _take(waiting, crew.next_size(left))
        left -= sum(len(part.seeds) for _, part in block)
        played = crew.play([part for _, part in block], Stop(), report)
        results += zip((i for i, _ in block), played, strict=True)
    return results


def _take(parts: list[tuple[int, Part]], most: int) -> list[tuple[int, Part]]:
    """Return parts from the end of a list, which they leave, of at most so many seeds."""
    block = []
    while parts and most > 0:
        i, part = parts.pop()
        if part.seeds[most:]:
            parts.append((i, part._replace(seeds=part.seeds[most:])))
        block.append((i, part._replace(seeds=part.seeds[:most])))
        most -= len(block[-1][1].seeds)
    return block


@dataclass(frozen=True)
class Recorded:
    """Draws to use instead of the keyed ones, an entry per round; at most one of the first three."""

    uniforms: ArrayLike | None = None  # numbers in (0, 1], for any scheduler
    proxy_delays: ArrayLike | None = None  # −1 (decline), a whole number, or inf, for proxy-delay schedulers
    lost: ArrayLike | None = None  # the round lost in each round, or 0, for VarOpt
    directions: ArrayLike | None = None  # unit vectors, for bandit learners; over arms the vertices to play


def draws_for(recorded: Recorded | None, player: Player, horizon: int) -> Draws:
    """Return the player's draws, recorded or to be keyed by a seed; raise ValueError for records that do not fit."""
    draws, dimension = keyed_draws(0), player.learner.dimension
    if recorded is None:
        return draws
    recordings = {name: values for name in SCHEDULING if (values := getattr(recorded, name)) is not None}
    if len(recordings) > 1:
        raise ValueError(f"record one kind of scheduling draw, got {' and '.join(recordings)}")
    for name, values in recordings.items():
        if name in MISSING and name not in player.scheduler.recorded_draws:
            raise ValueError(f"{type(player.scheduler).__name__} {MISSING[name]}")
        numbers = np.ascontiguousarray(values, dtype=np.float64)
        if numbers.shape != (horizon,):
            raise ValueError(f"{name} need one entry for each of {horizon} rounds, got shape {numbers.shape}")
        # What is good is listed, for nothing is true of NaN.
        is_whole, rounds = numbers == np.floor(numbers), np.arange(1, horizon + 1)
        is_good, range_of = {
            "uniforms": ((numbers > 0) & (numbers <= 1), "lie in (0, 1]"),
            "proxy_delays": (is_whole & (numbers >= -1), "be -1, a whole number or inf"),
            "lost": (is_whole & (numbers >= 0) & (numbers <= rounds), "be 0 or a round up to the one that loses it"),
        }[name]
        if not np.all(is_good):
            t = int(np.argmin(is_good)) + 1
            raise ValueError(f"recorded {name} must {range_of}, got {numbers[t - 1]:g} in round {t}")
        draws = draws._replace(schedule=SCHEDULING[name](numbers.astype(np.int64) if name == "lost" else numbers))
    if recorded.directions is not None:
        vectors = np.ascontiguousarray(recorded.directions, dtype=np.float64)
        if vectors.shape != (horizon, dimension):
            raise ValueError(f"directions need shape {(horizon, dimension)}, got {vectors.shape}")
        off = np.abs(np.linalg.norm(vectors, axis=1) - 1.0)
        # FPL, which hears gradients, takes its noise from here, of any length.
        if player.learner.feedback == "value" and not np.all(off <= LENGTH_ERROR):
            raise ValueError("recorded directions must be unit vectors")
        draws = draws._replace(directions=RecordedDirections(vectors))
    return draws


def _refuse_many(seeds: Any, checkpoints: Any) -> None:
    """Raise TooLarge where the results of so many seeds do not fit the memory."""
    if isinstance(seeds, (int, np.integer)) and isinstance(checkpoints, (int, np.integer)):
        refuse_if_large(int(seeds) * (SEED_BYTES + 32 * int(checkpoints)), f"the results of {seeds:,} seeds")


def seed_list(seeds: int | Iterable[int]) -> list[int]:
    """Return 0, 1, … for a number of seeds, or the seeds themselves, each once."""
    if isinstance(seeds, (int, float, np.number)):
        return list(range(as_int(seeds, "seeds", 1)))
    numbers = list(seeds)
    if not numbers:
        raise ValueError("seeds is empty: give a number of seeds or a list of them")
    for seed in numbers:
        if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or not 0 <= seed <= LARGEST_SEED:
            raise ValueError(f"seeds must be whole numbers from 0 to 2⁶³ - 1, got {seed!r}")
    if len(set(numbers)) != len(numbers):
        raise ValueError("seeds repeat: every seed gives the same run again")
    return [int(seed) for seed in numbers]


def worker_count(seeds: list[int], threads: int | None) -> int:
    """Return how many threads to use: as asked, or one per core, never more than seeds."""
    return min(len(seeds), as_int(threads, "threads", 1) if threads is not None else core_count())


def core_count() -> int:
    """Return the cores this process may use: a job on a shared machine is often given a few of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(
    run: Task, seeds: list[int], threads: int, size: Size, progress: Progress | None = None, total: int = 0
) -> tuple[list[Played], bool]:
    """Run every seed, in blocks; return what was finished, in the order of the seeds, and whether an interrupt came.

    A run that is told to stop raises Stopped.
    """
    stop, interrupted, rounds_done = Stop(), False, [0]
    lock = threading.Lock()  # the user's function is called by one thread at a time
    next_seed, finished = [0], dict[int, list[Played]]()

    def report(rounds: int) -> None:
        if progress is not None:
            with lock:
                rounds_done[0] += rounds
                progress(rounds_done[0], total)

    def work() -> None:
        while not stop.is_set():
            with taking:
                start = next_seed[0]
                block = seeds[start : start + size(len(seeds) - start)] if start < len(seeds) else []
                next_seed[0] += len(block)
            if not block:
                return
            try:
                finished[start] = run(block, stop, report)
            except Stopped:
                return

    taking = threading.Lock()
    if threads == 1 and threading.current_thread() is not threading.main_thread():
        # An interrupt reaches the main thread alone: any other may play itself, and start none.
        work()
    else:
        with ThreadPoolExecutor(threads) as pool:
            try:
                pending: set[Future[None]] = set()
                for _ in range(threads):
                    pending.add(pool.submit(work))
                while pending:  # in short sleeps: an interrupt wakes no waiting thread
                    ended, pending = wait(pending, timeout=POLL_SECONDS, return_when=FIRST_EXCEPTION)
                    for future in ended:
                        future.result()  # raises the first error
            except KeyboardInterrupt:
                interrupted = True
                logger.info("interrupted: the rounds under way are brought to an end")
            finally:
                stop.set()
    return [result for start in sorted(finished) for result in finished[start]], interrupted
