"""Strict JSON: no NaN, no Infinity, nothing that two programs would read differently."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

from rig.core.errors import UsageError


def dumps(value: object, what: str) -> bytes:
    """Return ``value`` as compact UTF-8 JSON, keys in the order given.

    Args:
        value: Anything made of mappings with text keys, lists, text, numbers, booleans and None.
        what: What it is, for the message.

    Raises:
        UsageError: If some part cannot be strict JSON; the message names that part.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        path, reason = _culprit(value, "")
        raise UsageError(f"{what}{path}: {reason or error}") from None


def canonical(value: object, what: str) -> bytes:
    """Return ``value`` as compact JSON with sorted keys: one spelling for one meaning.

    Raises:
        UsageError: As for `dumps`.
    """
    dumps(value, what)
    return json.dumps(
        value, allow_nan=False, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    ).encode()


def loads(data: bytes) -> object:
    """Return the value of strict JSON ``data``.

    Raises:
        ValueError: If it is not strict JSON in UTF-8, or names a key twice.
    """
    return _careful.decode(data.decode())


def loads_intact(data: bytes) -> object:
    """Return the value of JSON that a hash already vouches for; faster than `loads`.

    Raises:
        ValueError: If it is not strict JSON in UTF-8.
    """
    return _plain.decode(data.decode())


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is named twice")
    return found


_plain = json.JSONDecoder(parse_constant=_refuse)
_careful = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_once)


def _culprit(value: object, path: str) -> tuple[str, str]:
    """Return the path of the first part of ``value`` that is not strict JSON, and why."""
    if value is None or isinstance(value, bool | int):
        return "", ""
    if isinstance(value, float):
        return (
            (path, f"{value} is not JSON; write null and a word for why")
            if not math.isfinite(value)
            else ("", "")
        )
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return path, "the text is not valid Unicode"
        return "", ""
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list | tuple):
        parts = list(enumerate(value))
    else:
        return path, f"{type(value).__name__} is not JSON"
    for name, part in parts:
        where, reason = _culprit(part, f"{path}.{name}")
        if reason:
            return where, reason
    return "", ""


def plain(value: object) -> object:
    """Return ``value`` with every mapping a dict and every sequence a list, as JSON wants them.

    Raises:
        UsageError: If a mapping has a key that is not text, which JSON would quietly turn into text.
    """
    if isinstance(value, Mapping):
        if odd := [key for key in value if not isinstance(key, str)]:
            raise UsageError(f"key {odd[0]!r} is not text; JSON has no other keys")
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(part) for part in value]
    return value
