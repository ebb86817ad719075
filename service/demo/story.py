"""The demo: sets the stage, plays the steps, says what held or what did not, and leaves nothing running."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
from rich.console import Console

from service.demo.github.failures import Failure
from service.demo.patience import Interrupted, Patience
from service.demo.scene import WAIT_S, Scene, StepFailed
from service.demo.setting import BOT, OWNER, REPOSITORY, STRANGER, Mode
from service.demo.stage import Stage, StageFault
from service.demo.steps import STORY, Step
from service.demo.telling import Teller, Tone

HELD, FAILED, INTERRUPTED = 0, 1, 130
"""Exit codes."""


def run(mode: str, keep: bool) -> int:
    """Tell the story; returns 0 where each step held, 1 where one did not, 130 where somebody ended it.

    `mode`: `webhook` or `poll`. `keep`: leave all of it running at the end, and say where. For the main thread.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    return tell(Mode(mode), STORY, console, keep=keep)


def tell(mode: Mode, steps: Sequence[Step], console: Console, *, keep: bool, wait_s: float = WAIT_S) -> int:
    """Tell the story of these steps, each wait of theirs bounded by `wait_s`; returns the exit code."""
    teller, patience = Teller(console), Patience()
    folder = Path(tempfile.mkdtemp(prefix="the-loop-demo-"))
    stage = Stage(folder, mode, patience, outlives_us=keep)
    code = INTERRUPTED
    with patience.heeding_signals():
        try:
            code = _play(stage, steps, teller, patience, wait_s)
        finally:
            left_running = keep and code != INTERRUPTED
            if not left_running:
                stage.end()
    if left_running:
        _say_where(stage, teller)
    elif code != FAILED:
        stage.clear()
    return code


def _play(stage: Stage, steps: Sequence[Step], teller: Teller, patience: Patience, wait_s: float) -> int:
    began_s = time.monotonic()
    title = "The stage is set"
    scene = None
    try:
        _set(stage, teller)
        scene = Scene(stage, teller, patience, wait_s)
        for number, step in enumerate(steps, start=1):
            title = f"{number}. {step.title}"
            teller.chapter(number, step.title)
            teller.held(step.play(scene))
    except Interrupted:
        teller.line("ended", "as you asked", Tone.FAULT)
        return INTERRUPTED
    except StepFailed as failed:
        return _failed(stage, teller, title, failed)
    except (StageFault, Failure, httpx.HTTPError, OSError) as fault:
        return _failed(stage, teller, title, StepFailed("nothing of the stage to break", str(fault)))
    finally:
        if scene is not None:
            scene.close()
    teller.plain("")
    teller.line("held", f"all {len(steps)} steps, in {time.monotonic() - began_s:.0f} s", Tone.HELD)
    return HELD


def _set(stage: Stage, teller: Teller) -> None:
    teller.plain(
        f"This is the-loop at work, by {stage.mode}. GitHub is a stand-in on this machine, with a real git repository\n"
        f"({REPOSITORY}); the agent is a small program without a model. {OWNER} may give orders, {STRANGER} may not;\n"
        f"{BOT} is the service's account. Dim lines are the event log, yellow ones its decisions."
    )
    stage.set_up()
    teller.line("github", f"{stage.thread_url} is open, with its label")


def _failed(stage: Stage, teller: Teller, title: str, failed: StepFailed) -> int:
    teller.plain("")
    teller.line("FAILED", title, Tone.FAULT)
    teller.line("expected", failed.expected, Tone.FAULT)
    teller.line("seen", failed.seen, Tone.FAULT)
    teller.line("look at", f"{stage.state.event_log}\n{stage.folder / 'service.log'}\n{stage.folder / 'github.log'}")
    return FAILED


def _say_where(stage: Stage, teller: Teller) -> None:
    """What somebody needs who wants to go on by hand."""
    config = shlex.quote(str(stage.config))
    door = f"{stage.address}/_door"
    comment = (
        f'{{"as_login": "{OWNER}", "repo": "{REPOSITORY}", "number": {stage.thread_number}, "body": "the-loop start"}}'
    )
    ask = f'{{"repo": "{REPOSITORY}", "number": {stage.thread_number}}}'
    pids = [str(child.pid) for child in (stage.service, stage.github) if child is not None]
    webhook = (
        f"http://127.0.0.1:{stage.webhook_port}/webhook/github" if stage.mode is Mode.WEBHOOK else "none: it polls"
    )
    teller.plain(
        f"""
All of it is left running.

  GitHub      {stage.address}
  webhook     {webhook}
  settings    {stage.config}
  state       {stage.state.path}
  event log   {stage.state.event_log}

  follow what happens    the-loop events --follow --config {config}
  how things stand       the-loop status --config {config}
  write as {OWNER}           curl -s {door}/comment -d '{comment}'
  read the thread        curl -s {door}/comments -d '{ask}'

  serve it again         the-loop serve --config {config}    (once {pids[0]} was killed and is gone)
  end it                 kill {" ".join(pids)}    (a session that runs then: `the-loop stop` on the thread before)
  remove it              rm -r {shlex.quote(str(stage.folder))}"""
    )
