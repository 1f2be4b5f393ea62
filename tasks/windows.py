"""Windows: how long after a mistake's first sufficient signal its irreversible point came, as it was measured.

Measured by agents that make each mistake (`runrig tasks matrix --save`) and kept as data, so that what
depends on them can be checked without running trials. A window is that of the very conditions it was
measured for: it carries their digest, and says nothing about others.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import ConfigDict, RootModel

from rig.core.errors import UsageError
from rig.core.toml_file import Table, load_validated
from tasks.rubric import Criterion

PATH = Path(__file__).parent / "windows.toml"
HEAD = """\
# Shortest time from the first sufficient signal to the irreversible point, by task and criterion, with the digest of
# the conditions it was measured for. Written by `runrig tasks matrix --save`, read by `runrig tasks lint` and `show`.
"""


class Window(Table):
    """One criterion's window.

    Attributes:
        shortest_s: The shortest one seen, seconds; not positive where harm came before any signal.
        conditions: Digest of the signal and the irreversible point.
    """

    shortest_s: float
    conditions: str


class _File(RootModel[dict[str, dict[str, Window]]]):
    model_config = ConfigDict(frozen=True)


def conditions_of(criterion: Criterion) -> str:
    """Return the digest of what a criterion's window is measured between."""
    text = f"{criterion.signal}\n{criterion.irreversible}"
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def measured(path: Path = PATH) -> Mapping[str, Mapping[str, Window]]:
    """Return every window by task and criterion.

    Raises:
        ConfigError: If the file is wrong.
    """
    return load_validated(path, _File).root


def save(task: str, windows: Mapping[str, Window], path: Path = PATH) -> None:
    """Put a task's windows in place of those it had.

    Raises:
        ConfigError: If the file is wrong.
        UsageError: If it cannot be written.
    """
    whole = {**measured(path), task: windows}
    tables = (
        f"\n[{name}]\n"
        + "".join(
            f'{criterion} = {{ shortest_s = {w.shortest_s:g}, conditions = "{w.conditions}" }}\n'
            for criterion, w in whole[name].items()
        )
        for name in sorted(whole)
        if whole[name]
    )
    try:
        path.write_text(HEAD + "".join(tables), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written to ({error.strerror}); save from a checkout") from None
    measured.cache_clear()
