"""The shelf of channels: one file for each, and one line in this table."""

from __future__ import annotations

from collections.abc import Mapping

from replies.channel import Channel
from replies.channels.reaction import ReactionChannel
from replies.channels.thread import ThreadChannel

CHANNELS: Mapping[str, Channel] = {channel.name: channel for channel in (ThreadChannel(), ReactionChannel())}
"""Every channel by its name."""
