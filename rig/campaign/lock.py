"""Who may write a campaign: one coordinator at a time, for as long as it lives."""

import fcntl
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rig.core.errors import UsageError
from rig.core.record.disk import being_written

LOCK: Final = "coordinator.lock"
HELD: Final = re.compile(r"process (\d+) on (\S+)")


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


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a campaign; 0 on no machine where the lock does not say."""

    pid: int
    host: str

    @property
    def here(self) -> bool:
        """Whether it runs on this machine."""
        return self.host == socket.gethostname()


def coordinator_of(folder: Path) -> Holder | None:
    """Return who holds the campaign now, None if nobody does."""
    if not is_coordinated(folder):
        return None
    try:
        said = HELD.fullmatch((folder / LOCK).read_text(errors="replace").strip())
    except OSError:
        return None
    return Holder(int(said[1]), said[2]) if said else Holder(0, "")
