"""What the running service says of itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from eventlog.journal import Journal
from service.core import Core
from service.lifecycle.admission import Admission
from service.orders import Live


@dataclass(frozen=True, slots=True)
class Vitals:
    """Looks at the parts, from any thread."""

    core: Core
    journal: Journal
    telegram: Callable[[], str] | None
    """Whether the bot hears, in words; None: there is to be none."""

    def look(self, admission: Admission) -> Live:
        """How it is at this moment."""
        return Live(
            pid=os.getpid(),
            store_writable=self.core.committer.is_writable,
            workers_up=not self.core.lanes.stopping,
            admission_open=admission.accepting,
            log_lines_held=self.journal.held,
            log_lines_lost=self.journal.lost,
            telegram=self.telegram() if self.telegram else None,
        )
