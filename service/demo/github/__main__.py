"""The stand-in GitHub as a process of its own: `python -m service.demo.github --port 0 --folder DIR`."""

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from service.demo.github.standin import StandIn


def main() -> None:
    """Serve until SIGTERM, SIGINT or (`--with-parent`) the end of standard input; says where as one JSON line."""
    options = read_options()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with StandIn(options.folder, port=options.port, courier_threads=options.courier_threads) as stand_in:
        print(json.dumps({"address": stand_in.base_url, "door": f"{stand_in.base_url}/_door/"}), flush=True)
        if options.with_parent:
            threading.Thread(target=wait_for_parent, args=(ended,), daemon=True).start()
        ended.wait()


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m service.demo.github", description="A GitHub on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--folder", type=Path, required=True, help="where its git repositories and tables are kept")
    parser.add_argument("--courier-threads", type=int, default=1, help="how many webhooks are delivered side by side")
    parser.add_argument("--with-parent", action="store_true", help="end when standard input ends")
    return parser.parse_args()


def wait_for_parent(ended: threading.Event) -> None:
    """Wait for the end of standard input, which a parent's death brings."""
    sys.stdin.read()
    ended.set()


if __name__ == "__main__":
    main()
