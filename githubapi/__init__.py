"""GitHub behind one door: what its objects say, reading, listing and writing with PyGithub, and what a failure means."""
