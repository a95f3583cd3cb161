"""Things that are lent: one call each, first come first served, and none gets lost."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from ml_pipes._threads import shared
from ml_pipes._threads.clock import Gate
from ml_pipes._threads.deadline import due_within
from ml_pipes._threads.shared import Shared
from ml_pipes.errors import DeadlineExceeded

# To hash so much takes a while, in which the interpreter lets other threads run.
_DATA = bytes(20_000)


class Held:
    """A thing that a thread keeps until the test lets it go."""

    def __init__(self, lent: Shared[str], start) -> None:
        self.leave, came = threading.Event(), threading.Event()
        self.ended: Future[str] = start(
            lent.use, lambda thing: (came.set(), self.leave.wait(10), thing)[-1], "held"
        )
        assert came.wait(10)

    def let_go(self) -> str:
        self.leave.set()
        return self.ended.result(10)


def until_waiting(lent: Shared[str], callers: int) -> None:
    """Until so many callers stand in the queue."""
    turn = threading.Event()
    while len([loan for loan in list(lent._waiting) if not loan.over]) < callers:
        turn.wait(0.001)


def test_a_call_gets_a_thing_and_gives_what_was_made_of_it() -> None:
    assert Shared(["a"]).use(lambda thing: thing * 2, "waiting") == "aa"


def test_as_many_calls_as_there_are_things_run_at_once() -> None:
    lent, meeting = Shared(["a", "b", "c"]), threading.Barrier(3, timeout=10)

    with ThreadPoolExecutor(3) as pool:
        used = list(pool.map(lambda _: lent.use(lambda thing: (meeting.wait(), thing)[1], "waiting"), "123"))

    assert sorted(used) == ["a", "b", "c"]


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, SystemExit])
def test_what_a_call_raises_gives_the_thing_back(error) -> None:
    lent = Shared(["a"])

    def fail(thing: str) -> None:
        raise error("inside")

    with pytest.raises(error):
        lent.use(fail, "waiting")

    assert lent.use(str.upper, "waiting") == "A"


def test_who_came_first_is_served_first(start) -> None:
    lent, served = Shared(["a"]), []
    holder = Held(lent, start)
    waiting = []
    for name in range(8):
        waiting.append(start(lent.use, lambda _, name=name: served.append(name), "waiting"))
        until_waiting(lent, name + 1)

    holder.let_go()
    for future in waiting:
        future.result(10)

    assert served == list(range(8))


def test_a_newcomer_does_not_pass_by_those_who_wait(start) -> None:
    lent, served = Shared(["a"]), []
    holder = Held(lent, start)
    first = start(lent.use, lambda _: served.append("first"), "waiting")
    until_waiting(lent, 1)
    lent._waiting[0].gate = Gate()  # not the one it waits at, so its wake-up is late

    holder.let_go()
    newcomer = start(lent.use, lambda _: served.append("newcomer"), "waiting")
    newcomer.result(10)

    first.result(10)
    assert served == ["first", "newcomer"]


def test_who_waits_stops_at_its_deadline_and_the_next_is_served(start) -> None:
    lent = Shared(["a"])
    holder = Held(lent, start)

    with pytest.raises(DeadlineExceeded, match="went by while all were busy"), due_within(0.01):
        lent.use(str.upper, "all were busy")
    after = start(lent.use, str.upper, "waiting")
    holder.let_go()

    assert after.result(10) == "A"


def test_a_thing_that_is_free_is_had_without_waiting_for_a_deadline() -> None:
    with due_within(0.0):
        used = Shared(["a"]).use(str.upper, "waiting")

    assert used == "A"


def test_a_wake_up_that_gets_lost_costs_time_only(start, monkeypatch) -> None:
    monkeypatch.setattr(shared, "_LOOK_AGAIN_S", 0.01)
    lent = Shared(["a"])
    holder = Held(lent, start)
    monkeypatch.setattr(lent, "_call_next", lambda: None)
    waiting = start(lent.use, str.upper, "waiting")
    until_waiting(lent, 1)

    holder.let_go()

    assert waiting.result(10) == "A"


@pytest.fixture
def _many_turns() -> Iterator[None]:
    """Threads take turns more often than usual, at more places."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.stress
@pytest.mark.usefixtures("_many_turns")
def test_32_threads_with_32_000_calls_get_their_own_results_and_share_no_thing(start, monkeypatch) -> None:
    inside, most, waited = [0, 0, 0], [0, 0, 0], []
    lent = Shared([0, 1, 2])
    taken = lent._taken
    monkeypatch.setattr(lent, "_taken", lambda loan: taken(loan) or waited.append(loan))

    def work(thing: int, call_id: int) -> int:
        inside[thing] += 1
        hashlib.sha256(_DATA)  # others run meanwhile
        most[thing] = max(most[thing], inside[thing])
        inside[thing] -= 1
        return call_id + 1

    def caller(number: int) -> int:
        ids = range(number * 1000, number * 1000 + 1000)
        return sum(lent.use(lambda thing, at=at: work(thing, at), "waiting") != at + 1 for at in ids)

    wrong = [start(caller, number) for number in range(32)]

    assert sum(future.result(50) for future in wrong) == 0
    assert max(most) == 1
    assert len(waited) > 1000
    assert not [loan for loan in lent._waiting if not loan.over]


PROGRAM = """
import hashlib, os, signal, sys, threading, time
from ml_pipes._threads.shared import Shared

sys.setswitchinterval(1e-5)  # threads take turns more often than usual, at more places
armed, over, wrong, done = False, False, [], [0, 0, 0]
lent, data = Shared(["a", "b"]), bytes(20_000)  # others run while they are hashed


def interrupt(*_):
    if armed:
        raise KeyboardInterrupt


def send():
    while not over:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.0005)


def call(number):
    if lent.use(lambda thing: (hashlib.sha256(data), number + 1), "waiting")[1] != number + 1:
        wrong.append(number)


def work(worker):
    while not over:
        call(done[worker])
        done[worker] += 1


signal.signal(signal.SIGINT, interrupt)
workers = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for thread in [*workers, threading.Thread(target=send, daemon=True)]:
    thread.start()
interrupts, started = 0, time.monotonic()
while time.monotonic() < started + 2:
    try:
        armed = True
        call(interrupts)
    except KeyboardInterrupt:
        interrupts += 1
    finally:
        armed = False
before = list(done)
time.sleep(1.2)  # longer than anybody waits before looking again
stuck = [n for n, (then, now) in enumerate(zip(before, done)) if then == now]
over = True
for thread in workers:
    thread.join(10)
free = [place.loan.over for place in lent._places]
print(f"interrupts {interrupts}, stuck {stuck}, wrong {wrong[:3]}, free {free}")
sys.exit(not (interrupts > 20 and not stuck and not wrong and all(free)))
"""


@pytest.mark.stress
@pytest.mark.skipif(sys.platform == "win32", reason="Windows delivers no signals of this kind")
def test_an_interrupt_at_any_moment_gives_the_thing_back_without_any_pipeline() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=50, check=False
    )

    assert run.returncode == 0, run.stdout + run.stderr
