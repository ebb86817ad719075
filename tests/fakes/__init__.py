"""Stand-ins that only the tests use; the stand-in GitHub ships in `service.demo.github`."""
