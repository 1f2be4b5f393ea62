"""Who may write a campaign: one coordinator at a time, for as long as it lives."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rig.core.errors import UsageError
from rig.core.record.disk import being_written

LOCK: Final = "coordinator.lock"


@contextmanager
def coordinating(folder: Path) -> Iterator[None]:
    """Hold a campaign for as long as the block lasts; the lock goes with the process, however it ends.

    Raises:
        UsageError: If another coordinator holds it.
    """
    fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.read(fd, 200).decode(errors="replace").strip() or "another process"
            raise UsageError(
                f"{folder}: a coordinator is at work here already ({who}); look at it with "
                f"`runrig campaign status {folder}`, or wait until it is done"
            ) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)


def is_coordinated(folder: Path) -> bool:
    """Return whether a coordinator holds the campaign now."""
    return being_written(folder / LOCK)
