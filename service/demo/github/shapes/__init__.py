"""How the stand-in GitHub's records look as GitHub's JSON, on the wire and in webhook payloads."""
