"""The stand-in GitHub: small, stateful, on loopback, with a real git repository behind each of its repositories."""
