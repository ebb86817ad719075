"""The steps of the demo's story: who does what, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from domain.control import Verb
from domain.model import Outcome, PassReason
from service.demo.leftovers import living_processes
from service.demo.scene import Scene, Written, is_about
from service.demo.setting import OWNER, STRANGER, Mode
from service.demo.telling import Tone

NOT_DELIVERED = "not delivered"
"""The prompt says so in our own voice, and the demo's agent repeats the line in its answer."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `play` acts, checks, and returns the sentence that has held. Raises StepFailed."""

    title: str
    play: Callable[[Scene], str]


def service_starts(scene: Scene) -> str:
    """The service runs, and comments reach it by the road of this story."""
    stage = scene.stage
    pid = stage.start_service()
    scene.teller.line("you", f"the-loop serve --config {stage.config}  (pid {pid})", Tone.PERSON)
    scene.entry("the service to be ready", "service.ready")
    if stage.mode is Mode.WEBHOOK:
        stage.point_webhook_at_service()
        scene.entry("GitHub's ping", "webhook.ping")
        return f"it listens on port {stage.webhook_port}, and a signed webhook reaches it"
    scene.entry("the poller's first look", "poll.cycle")
    return "it asks GitHub every second; there is no webhook"


def comment_before_start(scene: Scene) -> str:
    """What people say to each other before anyone asked for work is nobody's work."""
    comment = scene.write(OWNER, "It also fails on a list of spaces, by the way.")
    _settled(scene, comment, Outcome.AWAITING_START)
    scene.expect(not scene.found("session.started"), "no session", "a session was started")
    return "the comment has a fate and a reason, and no session was started"


def start(scene: Scene) -> str:
    """A command on a labelled issue starts a session that answers on the thread."""
    comment = scene.write(OWNER, "the-loop start and say what you find first")
    _executed(scene, comment, Verb.START)
    answer = scene.answer_to(comment)
    scene.expect(NOT_DELIVERED in answer.text, "the session to be told of the comment that it missed", answer.text)
    clones = [clone for clone in sorted(scene.stage.state.clones.iterdir()) if (clone / ".git").is_dir()]
    scene.expect(len(clones) == 1, "one clone", f"{len(clones)} clones")
    reactions = {"eyes", "rocket"}
    scene.wait_for(
        f"the reactions {', '.join(sorted(reactions))} on comment {comment.id}",
        lambda: True if _reactions(scene, comment) >= reactions else None,
    )
    return (
        f"one session, in {clones[0].relative_to(scene.stage.folder)}; seen and done stand on the comment as reactions"
    )


def second_comment(scene: Scene) -> str:
    """A later comment reaches the same session, without a command."""
    comment = scene.write(OWNER, "Please cover a list with one element, too.")
    taken = scene.entry("the session to have the comment", "turn.taken", comment)
    scene.answer_to(comment)
    started = scene.found("session.started")
    same = len(started) == 1 and started[0].named("session_id") == taken.named("session_id")
    scene.expect(
        same, "the session of the start", f"{len(started)} sessions, the comment in {taken.named('session_id')}"
    )
    return "the same session heard it"


def pause_and_resume(scene: Scene) -> str:
    """While paused nothing is delivered; on resume the session hears that it missed something."""
    _executed(scene, scene.write(OWNER, "the-loop pause"), Verb.PAUSE)
    missed = scene.write(OWNER, "And what about None?")
    _settled(scene, missed, Outcome.SESSION_PAUSED)
    resumed = scene.write(OWNER, "the-loop resume")
    _executed(scene, resumed, Verb.RESUME)
    answer = scene.answer_to(resumed)
    scene.expect(NOT_DELIVERED in answer.text, "the session to be told that it missed a comment", answer.text)
    scene.expect(not is_about(answer, missed), "the refused comment not to be delivered", answer.text)
    return "the refused comment was not delivered, and the session knows that there is one on the thread"


def words_that_move_nothing(scene: Scene) -> str:
    """A stranger's command and a quoted one run nothing."""
    scene.write(STRANGER, "the-loop stop")
    scene.entry(
        "the stranger to be passed over", "routing.dropped", actor=STRANGER, reason=PassReason.UNAUTHORIZED_ACTOR
    )
    quoting = scene.write(OWNER, "> the-loop stop\n\nNo, not yet: the last test is still red.")
    scene.answer_to(quoting)
    stopped = scene.found("control.command", verb=Verb.STOP)
    scene.expect(not stopped, "no stop", f"{len(stopped)} stop commands")
    return "a stranger's words move nothing, and quoted words are text: the session read them as such"


def killed_in_mid_turn(scene: Scene) -> str:
    """A turn outlives the service."""
    stage = scene.stage
    comment = scene.write(OWNER, "Now work slowly: rename the parser.")
    scene.entry("the session to have the comment", "turn.taken", comment)
    stage.kill_service()
    scene.teller.line("you", "kill -9 the service, in the middle of the turn", Tone.PERSON)
    scene.expect(living_processes(stage.state) > 0, "the agent to go on", "no process of the session lives")
    pid = stage.start_service()
    scene.teller.line("you", f"the-loop serve, again (pid {pid})", Tone.PERSON)
    scene.wait_for("the service to be ready again", lambda: True if len(scene.found("service.ready")) == 2 else None)
    scene.answer_to(comment)
    handed = scene.found("turn.frozen", comment)
    scene.expect(len(handed) == 1, "one turn for the comment", f"{len(handed)} turns")
    scene.expect(len(scene.found("session.started")) == 1, "the same session", "another session was started")
    return "the agent went on without the service; one turn, one answer"


def stop(scene: Scene) -> str:
    """A stop ends the session and everything that belongs to it."""
    comment = scene.write(OWNER, "Thank you.\n\nthe-loop stop")
    _executed(scene, comment, Verb.STOP)
    scene.entry("the session to end", "session.ended")
    scene.wait_for(
        "no process of the session to live", lambda: True if living_processes(scene.stage.state) == 0 else None
    )
    late = scene.write(OWNER, "One more thing …")
    _settled(scene, late, Outcome.AWAITING_START)
    return "no process of the session lives, and later comments wait for a start"


def books_balance(scene: Scene) -> str:
    """Whatever a session had was answered once, and nothing else was."""
    scene.look()
    answered = 0
    for comment in scene.written:
        wanted = 1 if scene.found("turn.taken", comment) else 0
        answers = [answer for answer in scene.answers if is_about(answer, comment)]
        scene.expect(len(answers) == wanted, f"{wanted} answers to comment {comment.id}", f"{len(answers)} answers")
        answered += wanted
    faults = [entry.text for entry in scene.entries if entry.level >= 50]
    scene.expect(not faults, "no error in the event log", "\n".join(faults))
    return (
        f"{len(scene.written)} comments: {answered} were handed over and answered once each, the others have a reason"
    )


def explained(scene: Scene) -> str:
    """What became of a comment can be asked for."""
    comment = next(comment for comment in reversed(scene.written) if scene.found("turn.taken", comment))
    scene.teller.line("you", f"the-loop explain {comment.url}", Tone.PERSON)
    told = scene.stage.command("explain", comment.url)
    scene.teller.plain(told.stdout.strip())
    scene.expect(told.returncode == 0, "exit code 0", f"exit code {told.returncode}: {told.stderr.strip()}")
    for named in (scene.found("turn.taken", comment)[-1].named("turn_id"), str(scene.answer_to(comment).id)):
        scene.expect(named in told.stdout, f"{named} to be named", told.stdout)
    return "arrivals, decision, turn and answer of the comment that outlived the service"


STORY: tuple[Step, ...] = (
    Step("The service starts", service_starts),
    Step("A comment before anyone asked for work is refused", comment_before_start),
    Step("`the-loop start` on a labelled issue: a session answers", start),
    Step("A second comment reaches the same session", second_comment),
    Step("Pause, a comment that is refused, resume", pause_and_resume),
    Step("A stranger's command and a quoted one move nothing", words_that_move_nothing),
    Step("The service is killed in the middle of a turn", killed_in_mid_turn),
    Step("`the-loop stop` ends the session", stop),
    Step("The books balance", books_balance),
    Step("What became of a comment, and why", explained),
)


def _settled(scene: Scene, comment: Written, outcome: Outcome) -> None:
    scene.entry(f"comment {comment.id} to be settled as {outcome}", "dispatch.settled", comment, outcome=outcome)


def _executed(scene: Scene, comment: Written, verb: Verb) -> None:
    scene.entry(f"the command {verb} to be carried out", "control.executed", comment, verb=verb)


def _reactions(scene: Scene, comment: Written) -> set[str]:
    listed = scene.stage.act("reactions", comment_id=comment.id)
    return {str(each["content"]) for each in listed if isinstance(each, dict)} if isinstance(listed, list) else set()
