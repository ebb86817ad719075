"""A Telegram bot, assembled from the primitives of the-loop."""
