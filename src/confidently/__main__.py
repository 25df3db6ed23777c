"""``python -m confidently``: the command line."""

from .cli import main

main()
