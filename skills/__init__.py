"""What agents read: it ships in the wheel as data and holds no code."""
