"""The seat: the narrow door through which an agent asks the service for something, on its own work item only."""
