"""Trials from the logs of Inspect evaluations (``.eval`` archives and ``.json`` files, those of inspect-robots too).

A sample says how long its task takes in its metadata: ``duration_s``, or ``human_minutes``; several samples of one
``item`` name it there. What else our table knows (``family``, ``site``, ``tier``, ``embodiment``, ``monitor``) is
taken from there too where it is given. A sample that ended in an error is ABORTED: it says nothing about the agent.
"""

import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from analysis.parsing import PASSED, TableBuilder
from analysis.robots_logs import is_robots_log, read_robots
from analysis.trials import Outcome
from rig.core.errors import ConfigError

ZSTANDARD = 93  # compression method, as the ZIP specification (APPNOTE 6.3.8) numbers it
LOCAL_HEADER = 30  # bytes before the name; its last four are the sizes of name and extra field
FROM_METADATA = ("family", "site", "tier", "embodiment", "monitor", "config_digest", "record")
GRADES = {"C": 1, "I": 0, "1": 1, "0": 0, "1.0": 1, "0.0": 0, "True": 1, "False": 0}


def read_inspect(path: Path, builder: TableBuilder) -> None:
    """Take in every sample of a log.

    Raises:
        ConfigError: If the file is not such a log.
    """
    try:
        if path.suffix != ".eval" and is_robots_log(log := _json(path)):
            read_robots(path, log, builder)
            return
        header, samples = _archive(path) if path.suffix == ".eval" else _document(path)
        rows = [_row(header, sample) for sample in samples]
    except (KeyError, TypeError, AttributeError) as error:
        raise ConfigError(str(path), [f"is not the log of an Inspect evaluation: {error!r}"]) from None
    names = {name for row in rows for name in row}
    builder.extend({name: [row.get(name) for row in rows] for name in names}, len(rows))


def _json(path: Path) -> Mapping[str, Any]:
    try:
        log: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(str(path), [f"is not JSON: {error}"]) from None
    return log


def _document(path: Path) -> tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]:
    log = _json(path)
    return log["eval"], iter(log.get("samples") or ())


def _archive(path: Path) -> tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]:
    """Read an archive: a header, and one file per sample and epoch."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {member.filename: member for member in archive.infolist()}
            header = json.loads(_member(path, archive, members["header.json"]))["eval"]
            names = sorted(n for n in members if n.startswith("samples/") and n.endswith(".json"))
            samples = [json.loads(_member(path, archive, members[name])) for name in names]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, KeyError, OSError) as error:
        raise ConfigError(str(path), [f"is not a finished Inspect archive: {error}"]) from None
    return header, iter(samples)


def _member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """Return one file of an archive, also a Zstandard one, which zipfile learns to read in Python 3.14."""
    if member.compress_type != ZSTANDARD:
        return archive.read(member)
    import zstandard

    with path.open("rb") as stream:
        stream.seek(member.header_offset)
        name_size, extra_size = struct.unpack("<HH", stream.read(LOCAL_HEADER)[-4:])
        stream.seek(name_size + extra_size, 1)
        packed = stream.read(member.compress_size)
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(f"{member.filename}: {error}") from None


def _row(header: Mapping[str, Any], sample: Mapping[str, Any]) -> dict[str, Any]:
    metadata = sample.get("metadata") or {}
    epoch = sample.get("epoch", 1)
    row = {name: metadata.get(name) for name in FROM_METADATA if name in metadata}
    minutes = metadata.get("human_minutes")
    row |= {
        "trial_id": f"{header['run_id']}/{sample['id']}/{epoch}",
        "agent": header["model"],
        "task": header["task"],
        "item": metadata.get("item", f"{header['task']}/{sample['id']}"),
        "duration_s": metadata.get(
            "duration_s", 60.0 * minutes if isinstance(minutes, int | float) else None
        ),
        "elapsed_s": sample.get("total_time"),
        PASSED: Outcome.ABORTED if sample.get("error") else _grade(sample),
    }
    return row


def _grade(sample: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return 1 or 0 of the first scorer, or what it said for the table to refuse."""
    scores = sample.get("scores") or {}
    value = next(iter(scores.values()))["value"] if scores else None
    return GRADES.get(str(value), value if isinstance(value, str | int | float | None) else repr(value))
