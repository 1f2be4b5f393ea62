import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rig.console.access import Role
from rig.console.settings import Settings
from rig.console.shelf import key_of
from tests import recorded
from tests.console import serving


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runs folder of its own: reviews are written into it."""
    out = tmp_path_factory.mktemp("runs")
    for trial in (recorded.SOUP, recorded.QUIET, recorded.EXIT):
        for monitor in recorded.MODES:
            folder = recorded.folder_of(trial, monitor)
            shutil.copytree(folder, out / folder.relative_to(recorded.records()))
    return out.resolve()


@pytest.fixture(scope="session")
def made(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return serving.settings(runs, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def client(made: Settings) -> Iterator[object]:
    with serving.client_of(made) as found:
        yield found


@pytest.fixture
def person(client: object, made: Settings) -> Callable[..., serving.Caller]:
    def sign_in(role: Role = Role.ADMIN, name: str = "Sam Example") -> serving.Caller:
        return serving.Caller(client, made, role, name)  # type: ignore[arg-type]

    return sign_in


@pytest.fixture(scope="session")
def key_for(runs: Path) -> Callable[[tuple[str, str], str], str]:
    def key(trial: tuple[str, str], monitor: str = "shadow") -> str:
        return key_of(runs, runs / recorded.folder_of(trial, monitor).relative_to(recorded.records()))

    return key


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    path = serving.browser_or_skip()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=path, args=serving.ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def people(browser: object) -> Iterator[Callable[..., serving.Watched]]:
    """Make browsers of people, and look at the end at what they asked for."""
    made: list[serving.Watched] = []

    def come(console: Settings, **context: object) -> serving.Watched:
        made.append(serving.Watched(browser, console, **context))
        return made[-1]

    yield come
    for one in made:
        one.close()
