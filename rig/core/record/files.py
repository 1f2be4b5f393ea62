"""Reading the files of a record."""

import mmap
import os
from pathlib import Path

from rig.core.errors import RecordError


def mapped(path: Path) -> memoryview:
    """Return the bytes of a file, without reading those nobody looks at.

    Raises:
        RecordError: If the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            # Not closed by hand: whoever still holds a view of it, an exception's traceback say, keeps it.
            data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from None
    return memoryview(data)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        RecordError: If it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from None
