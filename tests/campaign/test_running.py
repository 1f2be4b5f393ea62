"""From plan to report: registration first, every trial to its end, whatever the workers do."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fake_work import dies, full_disk_at_seed_2, instant, run_trial_on_full_disk, troubled
from plans import DECISION, GRID, plan_file, trials_of

from analysis import read_trials
from analysis.table import load_table
from rig.campaign import folder as campaign_folder
from rig.campaign import work
from rig.campaign.anchoring import anchors_for
from rig.campaign.entries import State
from rig.campaign.executor import Came
from rig.campaign.ledger import Ledger
from rig.campaign.local import Pool, ThisProcess
from rig.campaign.lock import coordinating
from rig.campaign.report import heads_digest
from rig.campaign.running import Options, Ran, run_campaign
from rig.core.errors import CannotArm, ConfigError, ConfigurationChanged, RecordError, UsageError
from rig.core.record import records_under, verify
from rig.core.registration import Bias, deviate, read_registration

HERE = Options(workers=0)
SHORT_LEASE = '[run]\nlease = "5 s"\nattempts = 2\nmemory = "1 GiB"\n'


def ran(plan: Path, out: Path, options: Options = HERE, work: object = instant) -> Ran:
    return run_campaign(plan, out, options, executor=lambda: ThisProcess(work=work))  # type: ignore[arg-type]


def states(out: Path) -> dict[int, tuple[str, str, int]]:
    with Ledger.reading(out) as ledger:
        return {
            e.spec.seed: (e.state.value, e.ended.cause if e.ended else "", e.deaths) for e in ledger.entries()
        }


# ---- real trials --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("real")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        grid = GRID.replace('["refuse"]', '["refuse", "careful"]').replace("count = 6", "count = 2")
        assert run_campaign(plan_file(home, grid), home / "out", HERE).stopped is None
    return home / "out"


def test_records_are_where_the_ledger_says_and_anchored_by_it(real: Path) -> None:
    found = list(records_under(real / "records"))
    assert len(found) == 4 and all(len(path.parent.name) == 2 for path in found)
    for path in found:
        assert verify(path, anchors=anchors_for(path), require=["anchored"]).ok
    with Ledger.reading(real) as ledger:
        assert {e.ended.state for e in ledger.entries() if e.ended} == {State.DONE}


def test_a_record_that_was_rewritten_whole_is_caught_by_its_anchor(real: Path, tmp_path: Path) -> None:
    one, other = list(records_under(real / "records"))[:2]
    assert not verify(one, anchors=anchors_for(other), require=["anchored"]).ok
    (anchor,) = anchors_for(one)
    cut = verify(one, anchors=[replace(anchor, seq=anchor.seq + 1)], require=["anchored"])
    assert not cut.ok and "its tail was cut" in cut["anchor"].text


def test_records_say_which_registration_they_belong_to(real: Path) -> None:
    registration = read_registration(real)
    assert registration is not None and registration.signers
    manifest = json.loads((next(records_under(real / "records")) / "manifest.json").read_text())
    assert manifest["wall"]["registration"] == registration.id and manifest["wall"]["campaign"] == "night"


def test_the_table_from_the_ledger_is_the_table_from_the_records(real: Path) -> None:
    rows = {r.trial_id: replace(r, record=None) for r in load_table(real / "records")}
    for name in ("trials.csv", "trials.parquet"):
        listed = list(read_trials(real / "report" / name))
        assert {r.trial_id: replace(r, record=None) for r in listed} == rows
        assert all((real / str(r.record) / "manifest.json").is_file() for r in listed)


def test_the_reports_for_machines_add_up(real: Path) -> None:
    results = json.loads((real / "report" / "results.json").read_text())
    assert results["complete"] and results["trials"] == 4 and results["kind"] == "registered"
    assert results["run_length_reached"] and results["longest_run_s"] >= 1800
    assert sum(group["trials"] for group in results["groups"]) == 4
    root = ElementTree.parse(real / "report" / "junit.xml").getroot()
    suites = {s.get("name"): (s.get("tests"), s.get("failures"), s.get("errors")) for s in root}
    assert suites == {"careful, guard": ("2", "0", "0"), "refuse, guard": ("2", "2", "0")}


def test_a_finished_campaign_is_left_as_it_is(real: Path) -> None:
    before = {p: p.read_bytes() for p in (real / "report").iterdir()}
    done = ran(real.parent / "night.toml", real, work=dies)
    assert done.stopped is None and done.status.complete
    assert {p: p.read_bytes() for p in (real / "report").iterdir()} == before


# ---- registration ------------------------------------------------------------------------------


def test_it_is_registered_before_the_first_trial(tmp_path: Path) -> None:
    plan, out = plan_file(tmp_path), tmp_path / "out"

    def looks(job: work.Job, beat: work.Beat) -> work.Returned:
        found = read_registration(out)
        assert found is not None and found.id == job.ticket.registration
        return instant(job, beat)

    assert ran(plan, out, work=looks).stopped is None


def test_what_is_not_registered_is_exploratory_for_ever(tmp_path: Path) -> None:
    plan, out = plan_file(tmp_path, decision=""), tmp_path / "out"
    with pytest.raises(ConfigError, match=r"\[decision\]: is missing.*\n.*\[\[threshold\]\]"):
        ran(plan, out)
    done = ran(plan, out, replace(HERE, exploratory=True))
    assert done.status.registration == "" and read_registration(out) is None
    assert json.loads((out / "report" / "results.json").read_text())["kind"] == "exploratory"
    with pytest.raises(UsageError, match="begun as exploratory and stays so"):
        ran(plan, out)
    with pytest.raises(UsageError, match="nothing is registered"):
        deviate(out, what="a", why="b", bias=Bias.NONE, material=False, owner_role="c")


def test_the_run_length_that_is_intended_must_be_in_the_grid(tmp_path: Path) -> None:
    longer = DECISION.replace('run_length = "30 min"', 'run_length = "8 h"\nresidents = 2')
    with pytest.raises(ConfigError, match=r"longest item lasts 1800 s(.|\n)*tries one at a time"):
        ran(plan_file(tmp_path, decision=longer), tmp_path / "out")


def test_a_changed_plan_is_a_new_registration(tmp_path: Path) -> None:
    out, new = tmp_path / "out", tmp_path / "new"
    ran(plan_file(tmp_path), out)
    changed = plan_file(tmp_path / "b", GRID.replace("first = 0", "first = 50"))
    with pytest.raises(UsageError, match="a changed plan is a new registration"):
        ran(changed, out)
    ran(changed, new, replace(HERE, supersedes=out))
    before, after = read_registration(out), read_registration(new)
    assert before is not None and after is not None and after.supersedes == before.id


def test_thresholds_do_not_follow_their_data(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran(plan_file(tmp_path), out)
    softer = DECISION.replace('at_most = "0.05"', 'at_most = "0.5"')
    with pytest.raises(UsageError, match="6 of these trials have been run and seen"):
        ran(plan_file(tmp_path / "b", decision=softer), tmp_path / "b1", replace(HERE, supersedes=out))
    fresh = plan_file(tmp_path / "c", GRID.replace("first = 0", "first = 60"), softer)
    assert ran(fresh, tmp_path / "c1", replace(HERE, supersedes=out)).stopped is None
    real_trials = tmp_path / "used"
    (real_trials / "old").mkdir(parents=True)
    (real_trials / "old" / "manifest.json").write_text("{}")
    with pytest.raises(UsageError, match="there are trials in it already"):
        ran(plan_file(tmp_path), real_trials)


def test_files_that_changed_under_a_registration_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, out = plan_file(tmp_path), tmp_path / "out"
    assert ran(plan, out, work=full_disk_at_seed_2).stopped is not None
    told = campaign_folder.configured

    def other(spec: object) -> dict[str, object]:
        facts = told(spec)  # type: ignore[arg-type]
        return {**facts, "rules": {**facts["rules"], "common.toml": "0" * 64}}  # type: ignore[dict-item]

    with monkeypatch.context() as patch, pytest.raises(ConfigurationChanged) as caught:
        patch.setattr(campaign_folder, "configured", other)
        ran(plan, out)
    assert "rules (the safety rules), common.toml: was SHA-256" in str(caught.value)
    assert ran(plan, out).stopped is None, "put back, the same command goes on"


def test_an_altered_registration_stops_everything(tmp_path: Path) -> None:
    plan, out = plan_file(tmp_path), tmp_path / "out"
    ran(plan, out, work=full_disk_at_seed_2)
    (out / "plan.toml").write_bytes(b"name = 1")
    with pytest.raises(RecordError, match="not the plan that was registered"):
        ran(plan, out)


def test_a_sealed_set_is_opened_only_if_it_is_the_one(tmp_path: Path) -> None:
    import hashlib

    sealed = tmp_path / "sealed.toml"
    sealed.write_text('salt = "0123456789abcdef"\n' + GRID.replace("first = 0", "first = 900"))
    digest = hashlib.sha256(sealed.read_bytes()).hexdigest()
    plan = plan_file(tmp_path, more=f'[holdout]\nsha256 = "{digest}"\n')
    closed = ran(plan, tmp_path / "closed")
    assert closed.status.trials == 6
    opened = ran(plan, tmp_path / "opened", replace(HERE, holdout=sealed))
    assert opened.status.trials == 12
    with Ledger.reading(tmp_path / "opened") as ledger:
        assert {e.spec.seed >= 900 for e in ledger.entries() if e.sealed} == {True}
    sealed.write_text(sealed.read_text() + "\n")
    with pytest.raises(UsageError, match="is not the sealed set the plan commits to"):
        ran(plan, tmp_path / "third", replace(HERE, holdout=sealed))


# ---- trouble --------------------------------------------------------------------------------------


def test_workers_that_die_fall_silent_fail_or_run_out_of_memory(tmp_path: Path) -> None:
    plan, out = plan_file(tmp_path, more=SHORT_LEASE), tmp_path / "out"
    done = run_campaign(plan, out, HERE, executor=lambda: Pool(2, work=troubled, memory_bytes=1 << 30))
    assert done.stopped is None and done.status.complete
    found = states(out)
    assert found[0] == ("done", "", 0)
    assert found[1] == ("done", "", 1), "died once, done the second time"
    assert found[2] == ("aborted", "worker died", 1), "not for ever"
    assert found[3] == ("done", "", 1), "fell silent, was given up, done the second time"
    assert found[4][:2] == found[5][:2] == ("aborted", "worker died")
    with Ledger.reading(out) as ledger:
        reasons = {e.spec.seed: e.ended.reason for e in ledger.entries() if e.ended}
    assert "SIGKILL; the machine may have run out of memory, 2 times" in reasons[2]
    assert "MemoryError" in reasons[5] and "ValueError: a fault of the program" in reasons[4]


def test_a_physical_trial_whose_effect_is_unknown_stays_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, out = plan_file(tmp_path, GRID.replace("count = 6", "count = 2")), tmp_path / "out"
    trials = trials_of(tmp_path)
    real = replace(trials, cells=tuple(replace(c, embodiment="physical") for c in trials.cells))
    monkeypatch.setattr(
        campaign_folder,
        "lay_out",
        lambda *_: replace(real, cell=real.cell[:2], seed=real.seed[:2], repeat=real.repeat[:2]),
    )
    with pytest.raises(UsageError, match="moves hardware; say --yes"):
        ran(plan, out)
    may = replace(HERE, may_move=True)
    first = run_campaign(plan, out, may, executor=lambda: Pool(2, work=dies))
    assert first.stopped is not None and first.stopped.exit_code == 3
    assert "ended INDETERMINATE" in first.stopped.why and "look at the bench" in first.stopped.why
    assert first.status.states == {State.INDETERMINATE: 1, State.QUEUED: 1}, (
        "nothing moves before somebody looked"
    )
    second = ran(plan, out, may)
    assert second.stopped is None and second.status.states == {State.INDETERMINATE: 1, State.DONE: 1}
    with Ledger.reading(out) as ledger:
        assert {e.attempts for e in ledger.entries()} == {1} and {e.deaths for e in ledger.entries()} == {0}


def test_a_full_disk_stops_the_campaign_and_the_same_command_goes_on(tmp_path: Path) -> None:
    plan, out = plan_file(tmp_path), tmp_path / "out"
    stopped = ran(plan, out, work=full_disk_at_seed_2)
    assert stopped.stopped is not None and stopped.stopped.exit_code == 3
    assert not stopped.status.complete and not stopped.status.leases
    done = ran(plan, out, work=full_disk_at_seed_2)
    assert done.stopped is None and done.status.ended == 6
    assert len(list((out / "interrupted").iterdir())) == 1, "what was torn is kept"


def test_a_full_disk_is_told_from_other_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = work.Job(
        spec=trials_of(tmp_path).cells[0].spec, folder=tmp_path / "r", ticket=work.Ticket("00" * 16, "x", "")
    )
    monkeypatch.setattr(work, "run_trial", run_trial_on_full_disk)
    assert isinstance(work.carry_out(job, lambda _: None), work.Refused)
    found = work.carry_out(replace(job, physical=True), lambda _: None)
    assert isinstance(found, work.Returned) and found.ended.state is State.INDETERMINATE


@pytest.mark.parametrize("physical", [False, True])
def test_what_cannot_be_armed_has_not_been_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, physical: bool
) -> None:
    def unarmed(*_: object) -> None:
        raise CannotArm("no pictures on this machine")

    job = work.Job(
        spec=trials_of(tmp_path).cells[0].spec, folder=tmp_path / "r", ticket=work.Ticket("00" * 16, "x", ""),
        physical=physical,
    )  # fmt: skip
    monkeypatch.setattr(work, "run_trial", unarmed)
    assert work.carry_out(job, lambda _: None) == work.Refused("no pictures on this machine", 3)


def test_a_second_coordinator_is_sent_away(tmp_path: Path) -> None:
    plan, out = plan_file(tmp_path), tmp_path / "out"
    out.mkdir()
    with coordinating(out), pytest.raises(UsageError, match="at work here already"):
        ran(plan, out)
    assert ran(plan, out).stopped is None


def test_a_clock_that_went_back_is_noted_and_changes_nothing(tmp_path: Path) -> None:
    plan, out = plan_file(tmp_path), tmp_path / "out"
    ran(plan, out, work=full_disk_at_seed_2)
    with Ledger.writing(out) as ledger:
        ledger._db.execute("UPDATE run SET seen_utc = '2999-01-01T00:00:00+00:00'")
    assert ran(plan, out).status.complete
    with Ledger.reading(out) as ledger:
        assert any("wall clock went back" in text for _, text in ledger.notes())


def test_executors_give_the_same_ends(tmp_path: Path) -> None:
    plan = plan_file(tmp_path)
    digests = []
    for name, make in (("here", lambda: ThisProcess(work=instant)), ("pool", lambda: Pool(2, work=instant))):
        run_campaign(plan, tmp_path / name, HERE, executor=make)  # type: ignore[arg-type]
        with Ledger.reading(tmp_path / name) as ledger:
            digests.append(heads_digest(ledger))
    assert digests[0] == digests[1]


def test_news_is_only_of_what_was_given(tmp_path: Path) -> None:
    executor = ThisProcess(work=instant)
    assert executor.wait(0.0) == [] and executor.free() == ["coordinator"]
    cell = trials_of(tmp_path).cells[0]
    job = work.Job(spec=cell.spec, folder=tmp_path / "r", ticket=work.Ticket("00" * 16, "x", ""))
    executor.give("coordinator", job)
    assert executor.free() == []
    (news,) = executor.wait(0.0)
    assert isinstance(news, Came) and news.job is job
