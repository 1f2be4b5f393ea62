"""What commands print: words for people on standard output, or strict JSON."""

import json
import math
import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from rig.core.errors import UsageError


def print_json(value: object) -> None:
    """Print ``value`` as strict JSON: no NaN, no infinity (null instead)."""
    sys.stdout.write(json.dumps(_plain(value), indent=2, allow_nan=False) + "\n")


def _plain(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    return value


def out_folder(path: Path) -> Path:
    """Return ``path``, made and writable.

    Raises:
        UsageError: If it cannot be made or written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".runrig-probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"{path}: cannot be written to ({error.strerror}); give another folder") from None
    return path
