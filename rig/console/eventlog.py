"""The events of a record by number, kind and severity, however many there are.

The index holds where each line begins; a page reads only its own lines. Whether the lines are those that
were written is for `verify` to say, and the page shows its answer.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rig.core.event import Kind, Severity
from rig.core.record.chain import FILE
from rig.core.record.files import mapped

KINDS, SEVERITIES = tuple(Kind), tuple(Severity)
INDEX = np.dtype([("at", np.int64), ("t_ns", np.int64), ("kind", np.uint8), ("severity", np.uint8)])
_LINE = re.compile(
    rb'^\{"seq":\d+,"t_ns":(-?\d+),"kind":"([a-z_]+)","source":"[^"\n]*","severity":"([a-z]+)"', re.MULTILINE
)
_KIND = {kind.value.encode(): i for i, kind in enumerate(KINDS)}
_SEVERITY = {severity.value.encode(): i for i, severity in enumerate(SEVERITIES)}


def index(folder: Path) -> NDArray[Any]:
    """Return an entry for each event of a record; an unfinished last line is left out."""
    path = folder / FILE
    data = mapped(path) if path.exists() else memoryview(b"")
    whole = bytes(data[-(1 << 20) :]).rfind(b"\n")
    end = len(data) - min(len(data), 1 << 20) + whole + 1 if whole >= 0 else 0
    found = [
        (m.start(), int(m[1]), _KIND[m[2]], _SEVERITY[m[3]])
        for m in _LINE.finditer(data, 0, end)
        if m[2] in _KIND and m[3] in _SEVERITY
    ]
    return np.array(found, INDEX)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events; an empty collection is all of them."""

    kinds: frozenset[Kind] = frozenset()
    severities: frozenset[Severity] = frozenset()
    start_ns: int | None = None
    end_ns: int | None = None


def chosen(found: NDArray[Any], wanted: Filter) -> NDArray[np.intp]:
    """Return the numbers of the events that pass a filter, in order."""
    keep = np.ones(len(found), np.bool_)
    if wanted.kinds:
        keep &= np.isin(found["kind"], _codes(KINDS, wanted.kinds))
    if wanted.severities:
        keep &= np.isin(found["severity"], _codes(SEVERITIES, wanted.severities))
    if wanted.start_ns is not None:
        keep &= found["t_ns"] >= wanted.start_ns
    if wanted.end_ns is not None:
        keep &= found["t_ns"] <= wanted.end_ns
    return np.flatnonzero(keep)


def _codes(known: tuple[Any, ...], wanted: Collection[Any]) -> list[int]:
    return [i for i, word in enumerate(known) if word in wanted]


def lines(folder: Path, found: NDArray[Any], numbers: NDArray[np.intp]) -> Iterator[dict[str, Any]]:
    """Give the events of these numbers as they stand in the file."""
    data = mapped(folder / FILE)
    for number in numbers.tolist():
        at = int(found["at"][number])
        end = int(found["at"][number + 1]) if number + 1 < len(found) else len(data)
        line = bytes(data[at:end])
        yield json.loads(line[: line.index(b"\n")] if b"\n" in line else line)
