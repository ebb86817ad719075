"""The first settings file and webhook secret, written by `the-loop init`; nothing that is there is touched."""

from __future__ import annotations

from pathlib import Path

from service.new_files import all_or_nothing, make_folders, refuse_what_is_there, write_new
from service.settings import FILE_NAME

SECRET_FILE = "webhook-secret"  # noqa: S105 a name
TOKEN_FILE = "token"  # noqa: S105 a name

TEXT = f"""\
# Settings of the-loop. The environment goes over this file: THE_LOOP_GITHUB__TOKEN stands for github.token.
# Relative paths count from this file. `the-loop doctor` looks at all of it and says what is missing.

# name = "default"                     # of this instance; its state lies in $XDG_STATE_HOME/the-loop/<name>
# state_folder = "/srv/the-loop"       # somewhere else: private, on a local disk, in no clone

[github]
token_file = "{TOKEN_FILE}"                   # a file with the token of the account that reads and posts; make it yourself
# host = "github.com"                  # or your own GitHub's

# One block for each repository that is watched.
[[repositories]]
name = "owner/repo"
# path = "/srv/git/repo"               # clone from and push to a local repository instead of GitHub's

[routing]
authorized_users = []                  # who may move anything, by login: ["your-login"]; empty: nobody may
spawn = "labeled"                      # which issues may be started: labeled, always, never
label = "the-loop"                     # the label that "labeled" asks for

# The pushed road: GitHub calls us. Put a TLS proxy in front of it.
[webhook]
enabled = true
host = "127.0.0.1"
port = 8787
secret_file = "{SECRET_FILE}"         # give GitHub the same secret, and content type application/json

# The polled road: we ask GitHub, where no webhook can reach us.
[polling]
enabled = false
interval_s = 60

[sessions]
harness = "claude"                     # or "command", with command = ["any", "agent", "that", "speaks", "ACP"]
permissions = "allow_edits"            # what agents may do unasked: deny, allow_edits, allow_all
# add your project's test command to what may be run:
allow_commands = ["the-loop", "git add", "git commit", "git status", "git diff", "git log"]
# command_prefix = ["sudo", "-u", "agent", "--"]   # a wall around every agent

# The operator's bot: `the-loop telegram whoami` shows the ids that it asks for.
[telegram]
enabled = false
# token_file = "telegram-token"        # from @BotFather
# operators = [123456789]              # accounts that may ask it; nobody else is answered
# chat = -1001234567890                # the chat that is told what needs a person
"""


def write_first_settings(folder: Path, secret: str) -> tuple[Path, Path]:
    """Write both files and return their paths: settings, then secret (mode 0600). Writes neither where one exists.

    Raises AlreadyThere, and OSError where the folder cannot be made or written; neither is left then.
    """
    settings_file, secret_file = folder / FILE_NAME, folder / SECRET_FILE
    refuse_what_is_there((settings_file, secret_file))
    with all_or_nothing() as made:
        made.extend(make_folders(folder))
        write_new(secret_file, f"{secret}\n", 0o600)
        made.append(secret_file)
        write_new(settings_file, TEXT, 0o600)
    return settings_file, secret_file
