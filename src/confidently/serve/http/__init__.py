"""The HTTP face of the engine: routes, messages, tokens, limits."""
