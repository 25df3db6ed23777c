"""What code prints in a process that takes one path of the processor, which is chosen once per process."""

import os
import subprocess
import sys


def printed(path: str, code: str) -> str:
    """Return the standard output of Python code on this path."""
    environment = {**os.environ, "CONFIDENTLY_SIMD": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout
