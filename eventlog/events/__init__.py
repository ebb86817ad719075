"""The shelf of event types: one file for each first word of their names, one class for each type."""
