"""Keeps the stand-in's tables in a file, so that its process may be ended and started again."""

from pathlib import Path

from pydantic import TypeAdapter

from service.demo.github.state import Tables

TABLES = TypeAdapter(Tables)


def load(file: Path) -> Tables:
    """The tables that were saved, or empty ones where none were."""
    return TABLES.validate_json(file.read_bytes()) if file.exists() else Tables()


def save(file: Path, tables: Tables) -> None:
    """Replace the file by these tables, or leave it as it is."""
    fresh = file.with_suffix(".new")
    fresh.write_bytes(TABLES.dump_json(tables))
    fresh.replace(file)
