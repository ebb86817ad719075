"""Signals: three presses, what counts as one, and a real process that is pressed three times."""

import concurrent.futures
import contextlib
import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from service.lifecycle.signals import Press, Presses, SignalBinding, press
from tests.fakes.lifecycle import LIMIT_S, Hang, ManualClock

REPOSITORY_ROOT = Path(__file__).resolve().parents[3]


def kinds(*arrivals: float) -> list[Press]:
    presses, found = Presses(), []
    for now in arrivals:
        presses, kind = press(presses, now)
        found.append(kind)
    return found


@pytest.mark.parametrize(
    ("arrivals", "expected"),
    [
        pytest.param((0.0,), [Press.SHUTDOWN], id="one"),
        pytest.param((0.0, 0.04), [Press.SHUTDOWN, Press.SAME], id="two in one turn"),
        pytest.param((0.0, 0.05), [Press.SHUTDOWN, Press.ABORT_GRACE], id="two in two turns"),
        pytest.param(
            (0.0, 1.0, 1.04, 2.0),
            [Press.SHUTDOWN, Press.ABORT_GRACE, Press.SAME, Press.END_PROCESS],
            id="three, the second doubled",
        ),
        pytest.param(
            (0.0, 0.03, 0.06), [Press.SHUTDOWN, Press.SAME, Press.ABORT_GRACE], id="a stream is more than one press"
        ),
        pytest.param(
            (0.0, 1.0, 2.0, 3.0),
            [Press.SHUTDOWN, Press.ABORT_GRACE, Press.END_PROCESS, Press.END_PROCESS],
            id="four",
        ),
    ],
)
def test_signals_within_one_turn_are_one_press(arrivals, expected):
    assert kinds(*arrivals) == expected


@contextlib.contextmanager
def bound(clock: ManualClock, on_shutdown, on_abort_grace):
    """A binding of SIGUSR1, which nothing else in the test process uses."""
    binding = SignalBinding(
        clock=clock, on_shutdown=on_shutdown, on_abort_grace=on_abort_grace, signals=(signal.SIGUSR1,)
    )
    with binding:
        yield binding


def test_the_first_signal_asks_for_the_shutdown_and_one_in_a_later_turn_gives_up_the_grace():
    clock, calls = ManualClock(), queue.SimpleQueue()
    with bound(clock, lambda: calls.put("shutdown"), lambda: calls.put("abort")):
        signal.raise_signal(signal.SIGUSR1)
        assert calls.get(timeout=LIMIT_S) == "shutdown"
        clock.advance(0.06)
        signal.raise_signal(signal.SIGUSR1)
        assert calls.get(timeout=LIMIT_S) == "abort"


def test_two_signals_in_one_turn_do_not_give_up_the_grace():
    calls = queue.SimpleQueue()
    with bound(ManualClock(), lambda: calls.put("shutdown"), lambda: calls.put("abort")):
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        assert calls.get(timeout=LIMIT_S) == "shutdown"
    # The binding has read both signals by now.
    assert calls.empty()


def test_a_press_is_carried_out_while_the_main_thread_waits():
    """It waits on a future, as `wait_until_stopped` does, and does nothing else until the press has come through."""
    clock, pressed = ManualClock(), concurrent.futures.Future()
    with bound(clock, lambda: pressed.set_result("shutdown"), lambda: None):
        os.kill(os.getpid(), signal.SIGUSR1)
        assert pressed.result(timeout=LIMIT_S) == "shutdown"


def test_a_press_that_the_kernel_gave_to_another_thread_is_carried_out_all_the_same():
    """Such a signal does not wake a waiting main thread: an interpreter's own handler would run when the wait ends."""
    clock, pressed, ended = ManualClock(), concurrent.futures.Future(), threading.Event()
    other = threading.Thread(target=ended.wait, args=(LIMIT_S,))
    other.start()
    with bound(clock, lambda: pressed.set_result("shutdown"), lambda: None):
        signal.pthread_kill(other.ident, signal.SIGUSR1)
        assert pressed.result(timeout=LIMIT_S) == "shutdown"
    ended.set()
    other.join(timeout=LIMIT_S)


def test_the_second_press_is_heard_while_the_first_one_hangs():
    clock, calls, hang = ManualClock(), queue.SimpleQueue(), Hang()
    with bound(clock, lambda: hang(None), lambda: calls.put("abort")):
        signal.raise_signal(signal.SIGUSR1)
        hang.await_entry()
        clock.advance(1)
        signal.raise_signal(signal.SIGUSR1)
        assert calls.get(timeout=LIMIT_S) == "abort"
    hang.let_go.set()


def test_a_press_whose_carrying_out_fails_does_not_make_the_next_one_deaf(caplog):
    clock, calls = ManualClock(), queue.SimpleQueue()

    def broken():
        calls.put("shutdown")
        raise RuntimeError("the shutdown could not begin")

    with bound(clock, broken, lambda: calls.put("abort")):
        signal.raise_signal(signal.SIGUSR1)
        assert calls.get(timeout=LIMIT_S) == "shutdown"
        clock.advance(1)
        signal.raise_signal(signal.SIGUSR1)
        assert calls.get(timeout=LIMIT_S) == "abort"
    for thread in threading.enumerate():
        if thread.name.startswith("signal-"):
            thread.join(timeout=LIMIT_S)
    assert "what a signal asked for failed" in caplog.text


def test_the_handlers_of_before_are_back_after_the_binding():
    before = signal.getsignal(signal.SIGUSR1)
    with bound(ManualClock(), lambda: None, lambda: None) as binding:
        assert signal.getsignal(signal.SIGUSR1) != before
    assert signal.getsignal(signal.SIGUSR1) == before
    binding.close()
    assert signal.getsignal(signal.SIGUSR1) == before


def test_a_binding_that_was_never_bound_closes_without_a_trace():
    SignalBinding(clock=ManualClock(), on_shutdown=lambda: None, on_abort_grace=lambda: None).close()


SERVICE = textwrap.dedent("""
    import sys
    from service.lifecycle.application import Application
    from service.lifecycle.roster import Observers
    from service.lifecycle.shutdown import exit_code
    from service.lifecycle.signals import SignalBinding
    from tests.fakes.lifecycle import Hang, ManualClock, ScriptedResource
    from service.lifecycle.resource import Phase

    class JumpyClock(ManualClock):
        # Every reading is a second after the one before it: no two signals fall into one turn.
        def monotonic(self):
            self._now += 1.0
            return self._now

    def tell(word):
        print(word, flush=True)

    mode = sys.argv[1]
    script = {
        "clean": {},
        "slow": {Phase.DRAIN: lambda context: (tell("draining"), Hang()(context))},
        "stuck": {
            Phase.DRAIN: lambda context: (tell("draining"), Hang()(context)),
            Phase.FORCE: lambda context: (tell("forcing"), Hang()(context)),
        },
        "starting": {Phase.START: lambda context: (tell("starting"), Hang()(context))},
    }[mode]
    application = Application(
        [ScriptedResource("work", script=script)],
        clock=ManualClock(),
        observers=Observers(on_change=lambda snapshot: None, on_failure=lambda failure: None),
    )
    signals = SignalBinding(
        clock=JumpyClock(), on_shutdown=application.begin_shutdown, on_abort_grace=application.abort_grace
    )
    with signals:
        application.start()
        tell("ready")
        result = application.wait_until_stopped(20.0)
    sys.exit(exit_code(result))
""")


@contextlib.contextmanager
def service(mode: str):
    """A real process with an application in it; gone afterwards, however the test went."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVICE, mode],
        cwd=REPOSITORY_ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=LIMIT_S)


def heard(process: subprocess.Popen) -> str:
    return process.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_ends_a_service_with_0_when_the_end_is_clean(number):
    with service("clean") as process:
        assert heard(process) == "ready"
        process.send_signal(number)
        assert process.wait(timeout=LIMIT_S) == 0


def test_a_second_signal_ends_a_service_that_drains_for_too_long_with_1():
    with service("slow") as process:
        assert heard(process) == "ready"
        process.send_signal(signal.SIGTERM)
        assert heard(process) == "draining"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=LIMIT_S) == 1


def test_a_third_signal_ends_the_process_as_if_nobody_had_handled_it():
    with service("stuck") as process:
        assert heard(process) == "ready"
        process.send_signal(signal.SIGTERM)
        assert heard(process) == "draining"
        process.send_signal(signal.SIGTERM)
        assert heard(process) == "forcing"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=LIMIT_S) == -signal.SIGTERM
        assert process.stderr.read() == ""


def test_a_signal_during_the_start_reaches_a_main_thread_that_waits_for_the_start():
    """The binding stands before the start: the second press ends a start that hangs, and the process with it."""
    with service("starting") as process:
        assert heard(process) == "starting"
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=LIMIT_S) == 1
