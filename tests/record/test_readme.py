"""The examples in the record's README run on a real record."""

import re
from pathlib import Path

import pytest

import rig.core.record
from tests.record.making import short_record

README = Path(rig.core.record.__file__).with_name("README.md")
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: re.findall(r"import (\w+)", text)[0])
def test_an_example_runs(example, tmp_path, monkeypatch, capsys):
    short_record(tmp_path / "r")
    monkeypatch.chdir(tmp_path / "r")
    for needed in ("pandas", "duckdb"):
        if f"import {needed}" in example:
            pytest.importorskip(needed)
    exec(compile(example, str(README), "exec"), {})
    assert "assert" in example or capsys.readouterr().out


def test_there_are_examples():
    assert len(EXAMPLES) == 4
