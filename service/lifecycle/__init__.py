"""How the service comes up, takes work and goes down: resources, admission with leases, shutdown, signals."""
