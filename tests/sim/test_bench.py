"""Bench files are read whole, and a wrong one says everything that is wrong with it."""

import hashlib
from pathlib import Path

import pytest

from rig.core.bench import BenchSpec, bench_names, load_bench
from rig.core.channel import Audience
from rig.core.data import hardware_dir, hardware_file
from rig.core.errors import ConfigError, UsageError

SIM = hardware_dir() / "benches" / "sim.toml"


def changed(tmp_path: Path, old: str, new: str) -> Path:
    text = SIM.read_text()
    assert old in text
    path = tmp_path / "bench.toml"
    path.write_text(text.replace(old, new, 1))
    return path


def test_the_simulated_bench_loads_with_the_digest_of_its_files() -> None:
    bench = load_bench("sim")
    assert isinstance(bench, BenchSpec)
    files = [SIM, *(hardware_file("stations", f"{name}.toml") for name in bench.stations)]
    models = ("face", "wrist-spoon", "over")  # what is read off its cameras, as fitted
    files += [hardware_file("sensors", f"{name}.toml") for name in models]
    assert bench.digest == hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()
    assert (bench.tick_ns, bench.slow_tick_ns, bench.reaction_ns) == (1_000_000, 1_000_000_000, 8_000_000)
    assert bench == load_bench(SIM)


def test_quantities_become_si_numbers() -> None:
    gap = load_bench("sim").layout["face.gap"]
    assert (gap.period_s, gap.latency_s, gap.stale_after_s) == pytest.approx((0.033, 0.040, 0.2))


def test_intents_are_channels_of_the_monitor_sampled_every_tick() -> None:
    bench = load_bench("sim")
    assert bench.intents
    assert bench.layout.names[-len(bench.intents) :] == bench.intents
    for name in bench.intents:
        assert bench.layout[name].audience is Audience.MONITOR
        assert bench.layout[name].period_s == bench.tick_ns / 1e9


def test_an_unknown_bench_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"unknown bench 'ward'; known: .*sim") as caught:
        load_bench("ward")
    assert caught.value.exit_code == 2
    assert "sim" in bench_names()


def test_a_missing_file_names_its_path() -> None:
    with pytest.raises(UsageError, match=r"nowhere\.toml: cannot be read"):
        load_bench("nowhere.toml")


def test_every_mistake_is_reported_with_file_and_key(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    text = SIM.read_text()
    text = text.replace('tick = "1 ms"', 'tick = "1 N"', 1)
    text = text.replace('"care.meal"    = { unit = "1"', '"care.meal"    = { unit = "meals"', 1)
    text = text.replace("range = [0.0, 1e6], period", "range = [1e6, 0.0], period", 1)
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_bench(path)
    assert len(caught.value.mistakes) == 3
    assert str(path) in str(caught.value)
    for key in ("tick", "channel.person.wakes", "channel.care.meal.unit"):
        assert any(m.startswith(key) for m in caught.value.mistakes), key


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('tick = "1 ms"', 'tick = "1 ms"\nspeed = 3', "speed"),
        ("rate = 1e9,", 'rate = "fast",', "body.person.wakes.rate"),
        ('embodiment = "simulated"', 'embodiment = "imagined"', "embodiment"),
        ("rate = 1e9,", "rate = nan,", "body.person.wakes.rate"),
        ('tick = "1 ms"', 'tick = "0 ms"', "tick"),
        ('slow_tick = "1 s"', 'slow_tick = "0.1 ms"', "slow_tick"),
        ('reaction = "8 ms"', 'reaction = "-8 ms"', "reaction"),
        ("[body]", '[intent]\n"spo2" = { unit = "1", range = [0.0, 1.0] }\n[body]', "intent.spo2"),
        ("[body]", '[body]\n"head.yaw" = { unit = "deg", range = [0.0, 1.0], rate = 1.0 }', "body.head.yaw"),
        ("[body]", '[pad.hand]\nregion = "hand"\narea = "0 cm^2"\n[body]', "pad.hand.area"),
        ('"arm", "face"', '"leg", "face"', "stations"),
    ],
)
def test_a_wrong_key_or_value_is_refused(tmp_path: Path, old: str, new: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_bench(changed(tmp_path, old, new))
    assert any(m.startswith(key) for m in caught.value.mistakes)


def test_what_is_not_toml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bench.toml"
    path.write_text("name = ")
    with pytest.raises(ConfigError, match="not TOML"):
        load_bench(path)


def test_a_missing_hardware_file_lists_its_neighbours() -> None:
    with pytest.raises(UsageError, match=r"no file 'x\.toml' in hardware/benches; there are: .*sim\.toml"):
        hardware_file("benches", "x.toml")
