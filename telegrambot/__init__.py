"""A Telegram bot's primitives: calls, polling under admission, durable intake, operator channel, broadcast, local files."""
