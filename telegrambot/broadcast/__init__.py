"""One message to many recipients: a function with an end that is resumed by its name, and writes to nobody twice."""
