"""The stand-in as a process of its own: prints one line of JSON with its port and token, and ends on SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import json
import signal
from pathlib import Path

from tests.fakes.bot_api.server import StandInBotApi
from tests.fakes.bot_api.world import TOKEN


def main() -> None:
    arguments = _parser().parse_args()
    ending = {signal.SIGTERM, signal.SIGINT}
    # Threads inherit the mask, so the signals wait until this one asks for them.
    signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    stand_in = StandInBotApi(
        token=arguments.token,
        first_id=arguments.first_id,
        files_root=arguments.files_root,
        is_local=arguments.local,
    )
    with stand_in:
        print(json.dumps({"port": stand_in.port, "token": stand_in.token}), flush=True)
        signal.sigwait(ending)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.bot_api")
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--first-id", type=int, default=10)
    parser.add_argument("--files-root", type=Path)
    parser.add_argument("--local", action="store_true", help="hand out files by absolute paths and of any size")
    return parser


if __name__ == "__main__":
    main()
