"""A failure at every statement that reaches a database: the run goes on as if nothing had happened."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from itertools import count, product

import psycopg
import pytest
from marking import slow_but
from scenario import SCENARIOS, Client, check_answers, check_state, everything

from tarry import Answer
from tarry.errors import StoreError
from tarry.live import core, tracker
from tarry.live.stores import sqlite

KINDS = ("sqlite", "postgresql")
DIES, FAILS = "the client dies", "the call fails"


class Crash(BaseException):
    """The process is gone: nothing after it may run on its connection."""


class Faults:
    """Counts the statements that reach a database and breaks the n-th; a commit also breaks once it is done."""

    def __init__(self):
        self.n, self.reached, self.is_dead, self.committed, self.connections = 0, 0, False, False, []

    def arm(self, n, way):
        self.n, self.way, self.reached, self.committed = n, way, 0, False

    def statement(self, run, text, error, done=lambda: None):
        if threading.current_thread() is not threading.main_thread():  # the pool's own, which sets connections up
            return run()
        if self.is_dead:
            raise Crash
        self._reach(error)
        result = run()
        if str(text).startswith("COMMIT") and self.n:
            if self.reached + 1 == self.n:
                done()
                self.committed = True
            self._reach(error)
        return result

    def _reach(self, error):
        self.reached += 1
        if self.reached == self.n:
            self.is_dead = self.way == DIES
            raise Crash if self.is_dead else error("disk I/O error")

    @contextmanager
    def paused(self):
        n, reached, self.n = self.n, self.reached, 0
        yield
        self.n, self.reached = n, reached

    def bury(self):
        """The connections of a dead client end with it."""
        for connection in self.connections:
            connection.close()
        self.connections.clear()
        self.is_dead = False


@contextmanager
def breaking(monkeypatch):
    """Within this, all connections go through one ``Faults``."""
    faults = Faults()

    class Connection(sqlite3.Connection):
        def execute(self, text, *rest):
            return faults.statement(
                lambda: super(Connection, self).execute(text, *rest), text, sqlite3.OperationalError
            )

        def executemany(self, text, rows):
            run = super().executemany
            return faults.statement(lambda: run(text, rows), text, sqlite3.OperationalError)

    class Cursor(psycopg.Cursor):
        def execute(self, text, *rest, **more):
            run = super().execute
            if threading.current_thread() is threading.main_thread() and self.connection not in faults.connections:
                faults.connections.append(self.connection)
            return faults.statement(
                lambda: run(text, *rest, **more), text, psycopg.OperationalError, done=self._wait_for_pipeline
            )

        def executemany(self, text, rows, **more):
            run = super().executemany
            return faults.statement(lambda: run(text, rows, **more), text, psycopg.OperationalError)

        def _wait_for_pipeline(self):
            with self.connection.pipeline():
                pass

    plain, plain_postgres = sqlite3.connect, psycopg.Connection.connect

    def connect(*rest, **more):
        faults.connections.append(plain(*rest, **more, factory=Connection))
        return faults.connections[-1]

    def connect_postgres(*rest, **more):
        return plain_postgres(*rest, **more, cursor_factory=Cursor)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect)
        patch.setattr(psycopg.Connection, "connect", connect_postgres)
        patch.setattr(psycopg, "connect", connect_postgres)
        yield faults
    faults.bury()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Little is kept, so that short scripts forget, delete and grow."""
    monkeypatch.setattr(sqlite, "PATIENCE", 2.0)
    monkeypatch.setattr(tracker, "RECENT", 4)
    monkeypatch.setattr(core, "FIRST_SLOTS", 2)


def _is_quick(one):
    name, kind, way = one
    is_join = name in ("join", "changing join")
    return name == "callers' ids" or (is_join and (kind, way) != ("postgresql", DIES))


@pytest.mark.parametrize(("name", "kind", "way"), slow_but(product(SCENARIOS, KINDS, (DIES, FAILS)), _is_quick))
def test_a_failure_at_every_statement_of_a_call(name, kind, way, new_store, monkeypatch):
    scenario = SCENARIOS[name]
    reference, states = uninterrupted(scenario, new_store(kind))
    store, client = new_store(kind), Client(scenario)
    points = committed = 0
    with breaking(monkeypatch) as faults:
        client.quietly = faults.paused
        session = client.open(store)
        for step in range(1, len(states)):
            for n in count(1):
                passed = attempt(faults, n, way, lambda session=session, step=step: client.play(session, step))
                if way == DIES and not passed:
                    faults.bury()
                    session = scenario.kind.open(store, durability="process")
                found = everything(session)
                if passed or faults.committed:
                    check_state(states[step], client.extra, found)
                    client.play(session, step)  # the client whose answer was lost calls again
                    committed += not passed
                    points += n
                    break
                check_state(states[step - 1], client.extra, found)
        check_answers(reference, client)
        check_state(states[-1], client.extra, everything(session))
        assert points >= (4 if kind == "sqlite" else 3) * len(scenario.script)  # each is broken at several places,
        assert committed == len(scenario.script)  # and right after its commit
        session.close()


@pytest.mark.parametrize(
    ("kind", "way"), slow_but(product(KINDS, (DIES, FAILS)), lambda one: one != ("postgresql", FAILS))
)
def test_a_failure_at_every_statement_of_making_a_session(kind, way, new_store, monkeypatch):
    scenario = SCENARIOS["callers' ids"]
    _, states = uninterrupted(scenario, new_store(kind))
    with breaking(monkeypatch) as faults:
        for n in count(1):
            store, client = new_store(kind), Client(scenario)
            made = []
            passed = attempt(
                faults,
                n,
                way,
                lambda client=client, store=store, made=made: made.append(client.open(store)),
                may_be_lost=True,
            )
            faults.bury()
            with client.open(store) as session:
                check_state(states[0], client.extra, everything(session))
                client.play(session)
                check_state(states[-1], client.extra, everything(session))
            if passed:
                break
    assert n > (8 if kind == "sqlite" else 4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_at_every_statement_of_a_reading(kind, new_store, monkeypatch):
    client = Client(SCENARIOS["callers' ids"])
    writer = client.open(store := new_store(kind))
    client.play(writer)
    expected = everything(writer)
    with breaking(monkeypatch) as faults:
        # With an address of its own it has connections of its own.
        reader = client.open(store + "&application_name=reader" * (kind == "postgresql"))
        for n in count(1):
            client.again = False
            writer.ask("a")  # a repeated one: there is something new to load
            expected["answers"][Answer.REPEATED] += 1
            attempt(faults, n, FAILS, reader.status, may_pass=True)
            check_state(expected, client.extra, everything(reader))
            if faults.reached < n:
                break
    writer.close()
    assert n > (3 if kind == "sqlite" else 1)


def uninterrupted(scenario, store):
    """A client that nothing happens to, and what is stored before its first call and after each."""
    client = Client(scenario)
    with client.open(store) as session:
        states = [everything(session)]
        for step in range(1, len(scenario.script) + 1):
            client.play(session, step)
            states.append(everything(session))
    return client, states


def attempt(faults, n, way, call, *, may_pass=False, may_be_lost=False):
    """Make a call that breaks at its n-th statement; whether it has none and passed."""
    faults.arm(n, way)
    told = "disk"
    try:
        call()
    except Crash:
        assert way == DIES
    except StoreError as error:
        assert way == FAILS
        assert may_be_lost or not faults.committed  # what was committed is answered, though the commit failed
        told = str(error)
    else:
        assert faults.reached < n or may_pass or faults.committed
    assert "disk" in told
    faults.n = 0
    return faults.reached < n
