"""Loading a TOML file into a validated model, all mistakes at once, with file and key."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from rig.core.errors import ConfigError, UsageError
from rig.core.quantity import parse_quantity

Model = TypeVar("Model", bound=BaseModel)


class Table(BaseModel):
    """A table of a file: a key it does not know is a mistake, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class StrictTable(Table, strict=True):
    """A table whose values must be of the very types named: "1" is no number, 1 is no truth."""


def load_validated(path: Path, model: type[Model]) -> Model:
    """Return ``path`` as a ``model``.

    Raises:
        ConfigError: If the file is missing, is not TOML, or does not fit the model.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(str(path), ["no such file"]) from None
    except OSError as error:
        raise ConfigError(str(path), [f"cannot be read: {error}"]) from None
    return parse_validated(raw, str(path), model)


def parse_validated(raw: bytes, source: str, model: type[Model]) -> Model:
    """Return the bytes of a TOML file, which came from ``source``, as a ``model``.

    Raises:
        ConfigError: If they are not TOML, or do not fit the model.
    """
    return validated(parse_toml(raw, source), source, model)


def parse_toml(raw: bytes, source: str) -> dict[str, Any]:
    """Return the bytes of a TOML file, which came from ``source``, as tables.

    Raises:
        ConfigError: If they are not TOML.
    """
    try:
        return tomllib.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(source, [f"cannot be read: {error}"]) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(source, [f"is not TOML: {error}"]) from None


def validated(data: Mapping[str, Any], source: str, model: type[Model]) -> Model:
    """Return tables that came from ``source`` as a ``model``.

    Raises:
        ConfigError: If they do not fit the model.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        mistakes = [_line(e["loc"], e["msg"], e.get("input")) for e in error.errors()]
        raise ConfigError(source, mistakes) from None


def quantity_in(unit: str, *, or_number: bool = False) -> BeforeValidator:
    """Return what turns a field written as a quantity ("0.2 s") into a number of ``unit``.

    Args:
        unit: The unit of the number.
        or_number: Leave alone what is not text, for values that come from programs too.
    """

    def parse(seen: object) -> object:
        if not isinstance(seen, str):
            if or_number:
                return seen
            raise ValueError(f'write a number, a space and a unit, as in "4 {unit}"')
        try:
            return parse_quantity(seen, unit)
        except UsageError as error:
            raise ValueError(str(error)) from None

    return BeforeValidator(parse)


def _line(location: tuple[int | str, ...], message: str, seen: object) -> str:
    where = ".".join(str(part) for part in location) or "file"
    shown = "" if isinstance(seen, dict) else f" (seen: {seen!r})"
    return f"{where}: {message}{shown}"
