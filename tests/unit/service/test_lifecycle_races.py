"""Threads that take work, ask for the shutdown and report health all at once."""

import threading

from service.lifecycle.admission import AdmissionClosed
from service.lifecycle.latch import CancelToken
from service.lifecycle.resource import Health
from service.lifecycle.shutdown import (
    ShutdownOutcome,
)
from tests.fakes.lifecycle import LIMIT_S, ScriptedResource, bench, chain, in_thread


def test_many_threads_that_ask_at_once_share_one_shutdown():
    diary: list[str] = []
    the = bench(*chain(diary))
    the.application.start()
    barrier = threading.Barrier(16)

    def ask():
        barrier.wait(timeout=LIMIT_S)
        return the.application.begin_shutdown()

    asked = [in_thread(ask) for _ in range(16)]
    futures = {future.result(timeout=LIMIT_S) for future in asked}
    assert len(futures) == 1
    futures.pop().result(timeout=LIMIT_S)
    assert sorted(line for line in diary if line.startswith("close")) == ["close a", "close b", "close c"]


def test_work_that_is_taken_in_a_race_with_the_shutdown_is_either_refused_or_waited_for():
    """Threads take work without pause while the shutdown begins: it ends clean with nothing pending."""
    for _ in range(10):
        the = bench(ScriptedResource("store"))
        the.application.start()
        begun = threading.Barrier(9)

        def work(admission=the.application.admission, begun=begun):
            begun.wait(timeout=LIMIT_S)
            done = 0
            while (lease := admission.acquire()) is not None:
                lease.release()
                done += 1
            return done

        workers = [in_thread(work) for _ in range(8)]
        begun.wait(timeout=LIMIT_S)
        result = the.application.begin_shutdown().result(timeout=LIMIT_S)
        done = sum(worker.result(timeout=LIMIT_S) for worker in workers)
        assert (result.outcome, result.pending) == (ShutdownOutcome.CLEAN, 0)
        assert result.accepted == result.completed == done


def test_many_threads_acquire_while_health_flaps_and_the_shutdown_finds_nothing_pending():
    store = ScriptedResource("store")
    the = bench(store)
    the.application.start()

    def work():
        taken = 0
        while True:
            try:
                with the.application.admission.acquire_when_accepting(CancelToken(), timeout_s=10_000):
                    taken += 1
            except AdmissionClosed:
                return taken

    workers = [in_thread(work) for _ in range(12)]
    for _ in range(300):
        store.started.report_health(Health.DEGRADED)
        store.started.report_health(Health.HEALTHY)
    result = the.application.begin_shutdown().result(timeout=LIMIT_S)
    taken = sum(worker.result(timeout=LIMIT_S) for worker in workers)
    assert (result.outcome, result.pending, result.accepted) == (ShutdownOutcome.CLEAN, 0, taken)
