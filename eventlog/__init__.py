"""What happened: the catalogue of event types, the one writer of log lines, and their reader."""
