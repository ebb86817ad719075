"""Numbered SQL files; `user_version` says which have run."""
