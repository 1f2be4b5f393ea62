"""The process trials run in: it says what it is ready for, and is gone when the bench is no longer armed."""

import queue
import threading

from rig.console import worker
from rig.console.process import TrialProcess


def test_it_says_what_the_bench_bears_and_ends_when_told():
    said: queue.Queue[object] = queue.Queue()
    gone = threading.Event()
    process = TrialProcess(
        ("drink-assist", "spoon-feed"), "emulated", lambda _, word: said.put(word), lambda _: gone.set()
    )
    unfit, ready = said.get(timeout=120), said.get(timeout=120)
    assert isinstance(unfit, worker.Unfit)
    assert "cup" in unfit.why
    assert ready == worker.Ready("spoon-feed")
    assert (set(process.unfit), process.ready) == ({"drink-assist"}, {"spoon-feed"})
    process.let_go()
    assert gone.wait(30), "a process that nobody waits for would hold up the end of the console"
    process.wait()
