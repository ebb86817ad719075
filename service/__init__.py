"""The composition root: settings, wiring, lifecycle, the control socket and the command line."""
