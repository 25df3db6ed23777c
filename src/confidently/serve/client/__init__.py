"""The client of the server, and what it needs to be heard."""
