"""The polled road: reads what was written where no webhook reaches us, and hands it to the same Dispatcher."""
