"""The stand-in GitHub's REST routes, one file for each kind of object."""
