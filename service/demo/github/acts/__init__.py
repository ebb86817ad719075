"""What can happen on the stand-in GitHub: each act changes the state and tells the hooks about it."""
