"""The session host: a small process of its own that owns one agent and outlives the service's restarts."""
