"""A stand-in for Telegram's Bot API server: real HTTP on loopback, rules by a clock of its own, any fault on order."""
