"""Published horizons beside ours: reading them, comparing, and saying so where nothing compares."""

from pathlib import Path

import pytest

from analysis.bootstrap import Scheme
from analysis.estimate import EstimateOptions
from analysis.horizon import HorizonOptions, HorizonReport, horizons
from analysis.published import compare, read_published
from analysis.trials import TrialTable
from rig.core.errors import ConfigError, UsageError

from .conftest import campaign


@pytest.fixture(scope="module")
def report() -> HorizonReport:
    passes = {
        60.0 * 2.0**k: [a, b] for k, (a, b) in enumerate(((5, 5), (5, 4), (3, 4), (2, 1), (1, 0), (0, 0)))
    }
    options = EstimateOptions(replicates=200, schemes=(Scheme.TASKS,), intervals=False)
    return horizons(TrialTable.from_rows(campaign(passes)), HorizonOptions(estimate=options))


def table(folder: Path, text: str) -> Path:
    path = folder / "published.csv"
    path.write_text(text)
    return path


def test_ours_beside_theirs(report: HorizonReport, tmp_path: Path) -> None:
    ours = report.entries[0].estimate.horizon(0.5)
    assert ours is not None
    minutes = ours.t_s / 60.0
    path = table(
        tmp_path,
        "table,model,p50_min,p50_lo,p50_hi,p80_min,other\n"
        f"A,careful,{minutes},1,20,2,x\nB,careful,{10 * minutes},{9 * minutes},inf,,x\nB,unknown,3,,,,x\n",
    )
    same, far = compare(report, read_published(path))
    assert same.relative == pytest.approx(0.0, abs=1e-12)
    assert (same.inside, same.overlap) == (True, True)
    assert far.relative == pytest.approx(-0.9)
    assert (far.inside, far.overlap) == (False, False)
    assert far.published.t80_s is None


def test_the_published_tables_of_2026_are_read_whole(data: Path) -> None:
    rows = read_published(data / "metr_published_tables.csv")
    assert len(rows) == 70
    assert len({(row.table, row.agent) for row in rows}) == 70
    for row in rows:
        assert row.low_s is not None and row.high_s is not None
        assert row.low_s <= row.t50_s <= row.high_s


def test_an_agent_that_is_nowhere_published_is_named(report: HorizonReport, tmp_path: Path) -> None:
    path = table(tmp_path, "agent,t50_min\nsomebody,5\n")
    with pytest.raises(UsageError, match="trials have careful; the published table has somebody"):
        compare(report, read_published(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agent,minutes\na,5\n", "has none of the columns t50_min, p50_min, p50, horizon"),
        ("agent,t50_min\n", "holds no rows"),
        ("agent,t50_min\na,soon\n,5\n", "line 2, t50_min: 'soon' is no duration in minutes"),
        ("agent,t50_min\na,-5\n", "'-5' is no duration"),
        ("agent,t50_min\na,nan\n", "'nan' is no duration"),
    ],
)
def test_a_table_with_mistakes_is_refused_with_all_of_them(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_published(table(tmp_path, text))
    assert words in str(raised.value)


def test_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_published(tmp_path / "nothing.csv")
