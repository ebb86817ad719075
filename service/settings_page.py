"""The page of settings for the documentation, made from the settings themselves: `python -m service.settings_page`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from service.settings import FILE_NAME, RepositorySection, Settings

INTRODUCTION = f"""\
# Settings

One file, `{FILE_NAME}`: named by `--config`, else by `THE_LOOP_CONFIG`, else the one in the working folder.
`the-loop init` writes one to begin with. The environment goes over the file: `THE_LOOP_` and the setting's name in
capitals, with two underscores for the dot (`THE_LOOP_GITHUB__TOKEN`, `THE_LOOP_WEBHOOK__PORT`). An unknown setting is a
fault, and all faults are said at once. Relative paths count from the file.

This page is made from the code: `.venv/bin/python -m service.settings_page > docs/config/settings.md`.
"""
HEAD = "| setting | values | default | what it is |\n|---|---|---|---|"
NOT_WRITTEN = frozenset({"base_folder"})
"""Fields that no file holds."""
_KINDS = {str: "text", int: "number", float: "number", bool: "`true`, `false`", Path: "path", SecretStr: "secret"}
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def render_page() -> str:
    """The page in Markdown, with a newline at its end."""
    parts = [INTRODUCTION, f"## Of the instance\n\n{_table(Settings, '')}"]
    for name, field in Settings.model_fields.items():
        section = _section(field)
        if section is not None:
            title = f"[[{name}]]" if section is RepositorySection else f"[{name}]"
            says = (section.__doc__ or "").strip()
            parts.append(f"## `{title}`\n\n{says}\n\n{_table(section, f'{name}.')}")
    return "\n".join(parts)


def _table(model: type[BaseModel], prefix: str) -> str:
    rows = [
        f"| `{prefix}{name}` | {_values(field)} | {_default(field)} | {field.description} |"
        for name, field in model.model_fields.items()
        if name not in NOT_WRITTEN and _section(field) is None
    ]
    return "\n".join([HEAD, *rows]) + "\n"


def _section(field: FieldInfo) -> type[BaseModel] | None:
    """The section that a field holds, or holds a list of."""
    kinds = (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _values(field: FieldInfo) -> str:
    bounds = " ".join(_bounds(field))
    return f"{_kind(field.annotation)} {bounds}".rstrip()


def _kind(annotation: object) -> str:
    """What may be written, in a word."""
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(annotation))
    if get_origin(annotation) is tuple:
        return f"list of {_kind(get_args(annotation)[0])}s"
    if get_origin(annotation) is dict:
        kinds, values = get_args(annotation)
        return f"table from {_kind(kinds)} to {_kind(values)}"
    if get_origin(annotation) in (UnionType, Union):
        return _kind(next(kind for kind in get_args(annotation) if kind is not type(None)))
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return ", ".join(f"`{value}`" for value in annotation)
    return _KINDS[annotation] if isinstance(annotation, type) else str(annotation)


def _bounds(field: FieldInfo) -> Iterator[str]:
    for rule in field.metadata:
        for name, sign in _BOUNDS.items():
            if hasattr(rule, name):
                yield f"{sign} {getattr(rule, name)}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be set"
    value = field.get_default(call_default_factory=True)
    if value is None or value in ("", (), {}):
        return "–"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return ", ".join(f"`{entry}`" for entry in value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


if __name__ == "__main__":
    sys.stdout.write(render_page())
