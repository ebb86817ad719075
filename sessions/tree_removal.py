"""Deleting a folder that an agent had: links are deleted, never followed, and locked folders are unlocked."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path


def remove_tree(path: Path) -> None:
    """Delete what is at the path, if anything: a link as a link, a folder with all that is in it. Safe to repeat."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except PermissionError:
        _unlock(path)
        shutil.rmtree(path)


def _unlock(path: Path) -> None:
    path.chmod(0o700)
    for _, folders, _, descriptor in os.fwalk(path, follow_symlinks=False):
        for name in folders:
            if stat.S_ISDIR(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                os.chmod(name, 0o700, dir_fd=descriptor)
