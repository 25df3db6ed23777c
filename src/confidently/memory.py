"""The memory that is available, the one error for what needs more, and giving back what is no longer used."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

UNLIMITED = 2**62
M_MMAP_THRESHOLD, LARGE = -3, 2**22  # of malloc.h; bytes of an array
CGROUP_LIMITS = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"  # of a container


def require_memory(needed: int, what: str, remedy: str) -> None:
    """Raise ``MemoryError`` if something needs more bytes than there are.

    The message is of the form "``what`` needs ... bytes and ... are available; ``remedy``".
    """
    available = available_bytes()
    if needed > available:
        raise MemoryError(f"{what} needs {needed:,} bytes and {available:,} are available; {remedy}")


def available_bytes() -> int:
    """Return the bytes of memory that this process can get, or a very large number if the system does not say.

    Other programs give memory back when they end, so the memory of the machine counts, not what is free now.
    """
    return max(0, min(_limits(), default=UNLIMITED))


def give_back_large() -> None:
    """Have the C library give the memory of large arrays back as soon as they are freed, from now on."""
    with suppress(AttributeError, OSError, TypeError):  # only glibc keeps much, and only it has the functions
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE)


def give_back() -> None:
    """Give memory that is no longer used back to the system, as far as the C library can."""
    gc.collect()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _limits() -> Iterator[int]:
    with suppress(AttributeError, ValueError, OSError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in CGROUP_LIMITS:
        with suppress(ValueError, OSError):  # not there, or "max"
            yield int(Path(path).read_text())
    with suppress(ImportError, ValueError, OSError):
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit

        if (limit := getrlimit(RLIMIT_AS)[0]) != RLIM_INFINITY:
            yield limit - int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
