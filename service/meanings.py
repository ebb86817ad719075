"""Our words in sentences, for people who read them on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from domain.decision import RejectReason
from domain.model import Fate, Outcome, PassReason, UnhandledReason
from statedb.rows import Step

FATES: Final[Mapping[Fate, str]] = MappingProxyType(
    {
        Fate.UNHANDLED: "nothing holds it",
        Fate.INFLIGHT: "it is on its way",
        Fate.DONE: "a session has it, proven by a receipt",
        Fate.SETTLED: "we are finished with it, the outcome says why",
    }
)

STEPS: Final[Mapping[Step, str]] = MappingProxyType(
    {
        Step.NONE: "",
        Step.NEED: "GitHub is asked for the item before it can be decided",
        Step.BEHIND: "it waits for a command before it that is not decided yet",
        Step.QUEUED: "it waits for its turn",
        Step.FROZEN: "a turn carries it, and there is no receipt yet",
        Step.ENDING: "the session is being ended",
    }
)

OUTCOMES: Final[Mapping[Outcome, str]] = MappingProxyType(
    {
        Outcome.AWAITING_START: "nobody had started this item, or it is older than the start that counts; "
        "refused comments are not replayed, the first prompt tells the session to read the thread",
        Outcome.SESSION_PAUSED: "the item was paused; refused comments are not replayed, the session is told of them "
        "on `resume`",
        Outcome.CONTROL_EXECUTED: "the comment was a command, and its effect is confirmed",
        Outcome.CONTROL_REJECTED: "the comment was a command that was refused; a short reply said why",
        Outcome.CONTROL_AMBIGUOUS: "it held two different commands: nothing ran, nothing was forwarded",
        Outcome.NOT_AUTHORIZED: "its author had no right any more when it was to be carried out",
        Outcome.SESSION_STOPPED: "a stop, a cleanup or a closing came before it was handed over",
        Outcome.WITHDRAWN: "it was deleted before a session had it",
        Outcome.SUPERSEDED: "a newer version of the text is known, or another arrival already said it all",
        Outcome.BASELINED: "it stood on the thread before we watched it",
    }
)

REASONS: Final[Mapping[UnhandledReason, str]] = MappingProxyType(
    {
        UnhandledReason.SPAWN_POLICY: "`routing.spawn` forbids a start here",
        UnhandledReason.SESSION_OCCUPIED: "somebody else holds the item's clone",
        UnhandledReason.GIVEN_UP: "the budget of attempts is used up; one notice said so, and a new comment tries again",
    }
)

PASSED: Final[Mapping[PassReason, str]] = MappingProxyType(
    {
        PassReason.NOT_FOR_US: "another event or action than we read, or a repository that is not watched",
        PassReason.NO_WORK_ITEM: "it names no issue and no pull request that we work on",
        PassReason.SELF_AUTHORED: "we wrote it ourselves",
        PassReason.UNAUTHORIZED_ACTOR: "its author is not in `routing.authorized_users`",
        PassReason.MALFORMED: "it does not have the shape that we read",
    }
)

REFUSALS: Final[Mapping[RejectReason, str]] = MappingProxyType(
    {
        RejectReason.SPAWN_POLICY: "`routing.spawn` does not allow a start here (is the label missing?)",
        RejectReason.NOTHING_TO_RESUME: "the item was not paused",
        RejectReason.NEAR_MISS: "it is nearly a command, and none",
        RejectReason.OTHER_INSTANCE: "another instance of the-loop spoke here within a week",
        RejectReason.NO_SUCH_ITEM: "GitHub says that the item does not exist",
    }
)

DECISIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Queue": "hand it to the session when its turn comes",
        "Suppress": "refuse it on purpose",
        "Leave": "let it go; a new arrival may claim it",
        "Settle": "there is nothing to carry out",
        "Ask": "ask GitHub first how the item stands",
        "Behind": "wait for the command before it",
        "Apply": "carry out the command",
        "Close": "the item was closed: a stop by nobody",
        "Answer": "answer the question",
        "Reject": "refuse the command",
        "Ambiguous": "more than one command: run none of them",
        "Replace": "put the edited text in place of the one that waits",
        "Withdraw": "the text was deleted: take back what waits of it",
        "Note": "only the item's state is taken from it",
    }
)
"""By the name of the decision's class, as the store keeps it."""
