"""The page that is shipped is the page that is written here."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rig.console.openapi import FILE, description

CONSOLE = Path(__file__).resolve().parents[2] / "rig" / "console"
WEB, STATIC = CONSOLE / "web", CONSOLE / "static"


def test_the_types_of_the_page_are_those_of_the_api():
    assert FILE.read_text() == description(), (
        "run: python -m rig.console.openapi, then npm run types and npm run build"
    )


def test_the_lock_file_names_no_registry():
    lock = json.loads((WEB / "package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
    assert "registry" not in (WEB / "package-lock.json").read_text()


def test_the_committed_page_is_what_its_sources_build(tmp_path):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm here: the committed page is taken as it is")
    web = tmp_path / "web"
    shutil.copytree(WEB, web, ignore=shutil.ignore_patterns("node_modules"))
    environment = {**os.environ, "npm_config_cache": str(tmp_path / "npm"), "CI": "1"}
    modules = WEB / "node_modules"
    if modules.is_dir():
        (web / "node_modules").symlink_to(modules)
    elif subprocess.run(
        [npm, "ci", "--silent"], cwd=web, env=environment, check=False, capture_output=True
    ).returncode:
        pytest.skip("npm cannot reach a registry: the committed page is taken as it is")
    done = subprocess.run(
        [npm, "run", "build"], cwd=web, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    built = tmp_path / "static"
    names = sorted(str(p.relative_to(built)) for p in built.rglob("*") if p.is_file())
    assert names == sorted(str(p.relative_to(STATIC)) for p in STATIC.rglob("*") if p.is_file())
    for name in names:
        assert (built / name).read_bytes() == (STATIC / name).read_bytes(), (
            f"{name}: run npm run build in {WEB}"
        )


def test_the_page_names_no_other_host():
    for path in STATIC.rglob("*"):
        if path.is_file():
            found = set(re.findall(r"https?://[\w.-]+", path.read_text()))
            assert found <= {"http://www.w3.org", "https://svelte.dev"}, path  # names, never asked for
