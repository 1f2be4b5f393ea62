"""The file operations a record rests on, in one place, so that a test can make any of them fail.

Nothing here buffers: what `Disk.write` returned from is with the operating system, and what
`Disk.sync` returned from is on the medium.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rig.core.errors import RecorderFault, UsageError


class Disk:
    """Plain POSIX files; every method raises OSError when the machine refuses."""

    def create(self, path: Path) -> int:
        """Create ``path``, which must not exist, for appending; return its descriptor."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, fd: int, data: bytes | memoryview) -> None:
        """Append all of ``data``."""
        view = memoryview(data)
        while len(view):
            view = view[os.write(fd, view) :]

    def sync(self, fd: int) -> None:
        """Return once everything written to ``fd`` is on the medium."""
        (os.fdatasync if hasattr(os, "fdatasync") else os.fsync)(fd)

    def truncate(self, fd: int, size: int) -> None:
        """Cut the file down to its first ``size`` bytes."""
        os.ftruncate(fd, size)

    def close(self, fd: int) -> None:
        """Give the descriptor back."""
        os.close(fd)

    def lock(self, fd: int) -> None:
        """Mark the file as being written, for as long as ``fd`` is open."""
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def sync_folder(self, folder: Path) -> None:
        """Return once the names in ``folder`` are on the medium."""
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def free_bytes(self, folder: Path) -> int:
        """Return the space left for an ordinary user on the file system of ``folder``."""
        stats = os.statvfs(folder)
        return stats.f_bavail * stats.f_frsize

    def reserve(self, path: Path, size: int) -> None:
        """Set ``size`` bytes aside in ``path``; deleting it makes room on a full disk."""
        fd = self.create(path)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(fd, 0, size)
            else:
                self.write(fd, bytes(size))
        finally:
            self.close(fd)


def write_file(disk: Disk, path: Path, data: bytes) -> None:
    """Create ``path`` holding ``data``, durable under its name when this returns."""
    fd = disk.create(path)
    try:
        disk.write(fd, data)
        disk.sync(fd)
    finally:
        disk.close(fd)
    disk.sync_folder(path.parent)


def publish(disk: Disk, path: Path, data: bytes) -> None:
    """Create ``path`` holding ``data``; at no moment is there a part of it under that name."""
    draft = path.with_name(f".{path.name}")
    draft.unlink(missing_ok=True)
    write_file(disk, draft, data)
    draft.replace(path)
    disk.sync_folder(path.parent)


def being_written(path: Path) -> bool:
    """Return whether a live writer holds ``path``."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


@contextmanager
def opening(folder: Path, what: str = "record") -> Iterator[None]:
    """Turn what the machine says while a record, or what is made from it, is created into advice.

    Raises:
        UsageError: If the folder cannot be used; nothing has been recorded yet.
    """
    try:
        yield
    except FileExistsError:
        if not folder.is_dir():
            raise UsageError(f"{folder}: is a file; choose a folder") from None
        raise UsageError(
            f"{folder} already holds a record or something else; nothing is ever overwritten: "
            f"choose a folder that is new or empty"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot write the {what} here: {error.strerror}; "
            f"choose a folder you can write to, on a disk with space"
        ) from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failed write or sync during a trial into a fault of the rig.

    Raises:
        RecorderFault: With what the machine said.
    """
    try:
        yield
    except OSError as error:
        full = "; free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise RecorderFault(
            f"{path}: cannot be made durable: {error.strerror}{full}; "
            f"everything acknowledged so far is kept, `runrig recover` makes it whole"
        ) from error
