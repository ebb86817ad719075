"""The service in one process that most tests of the whole path stand on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.harness import StandInHarness
from tests.fakes.service_in_process import ServiceInProcess


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceInProcess]:
    """A running service on embedded defaults."""
    with ServiceInProcess(tmp_path) as running:
        yield running


@pytest.fixture
def harness(service: ServiceInProcess) -> StandInHarness:
    """The stand-in whose sessions it starts."""
    return service.harness
