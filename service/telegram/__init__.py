"""The operator's seat in Telegram, put together from the primitives of `telegrambot/`."""
