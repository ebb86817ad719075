"""What goes back to people: the reply ledger, which records before it sends, and the channels it sends by."""
