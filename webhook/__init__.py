"""The pushed road, and the one path on which events of every road are routed, decided and dispatched."""
