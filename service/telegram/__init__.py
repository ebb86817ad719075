"""Telegram bots put together from the primitives of `telegrambot/`: the operator's beside the service, and parts for others."""
