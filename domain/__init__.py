"""Words and decisions of the-loop: pure values and functions without I/O, clock, chance or framework."""
