"""The host's end of the link, and both ends together over wires that misbehave."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_bridge import codec, framing
from firmware_bridge import messages as m
from firmware_bridge.build import build_number
from firmware_bridge.clock_sync import ClockSync, Exchange
from firmware_bridge.faults import WireFaults
from firmware_bridge.session import Ending, Outcome, Session, Settings
from firmware_bridge.states import TRANSITIONS, LinkState, Signal, after
from rig.core.errors import UsageError
from tests.firmware_bridge.node import MS, Stage

CONTROLLER = Settings(role=m.Role.CONTROLLER, nonce=1)
BAD = WireFaults(
    drop=0.05,
    garble=0.0005,
    duplicate=0.05,
    delay=0.05,
    split=0.05,
    delay_s=0.04,
    split_s=0.001,
    latency_s=0.001,
)


@pytest.mark.parametrize("state", list(LinkState))
@pytest.mark.parametrize("signal", list(Signal))
def test_every_state_answers_every_signal_and_close_always_ends(state: LinkState, signal: Signal) -> None:
    assert after(state, signal) is TRANSITIONS.get((state, signal), state)
    assert after(after(state, signal), Signal.CLOSE) is LinkState.CLOSED


def test_lost_and_refused_are_left_only_by_starting_anew_or_closing() -> None:
    for state in (LinkState.LOST, LinkState.REFUSED):
        assert {s for (a, s) in TRANSITIONS if a is state} == {Signal.START, Signal.CLOSE}


def test_up_is_reached_only_through_an_opened_session() -> None:
    assert [k for k, b in TRANSITIONS.items() if b is LinkState.UP] == [(LinkState.OPENING, Signal.OPENED)]


def test_a_port_where_nobody_answers_is_lost_and_says_what_to_check() -> None:
    session = Session(CONTROLLER)
    session.start(0)
    sent = [session.poll(t * MS) for t in range(1001)]
    assert sum(map(bool, sent)) == 50  # every 20 ms for a second
    assert session.state is LinkState.LOST
    assert "right port" in session.why


def test_firmware_of_other_sources_is_named_and_never_opened() -> None:
    Stage(build=build_number()).up()
    other = Stage(build=build_number() ^ 1)
    other.run(100)
    session = other.controller.session
    assert session.state is LinkState.REFUSED
    assert f"build {build_number():08x}, this program's is" in session.why and "flash" in session.why


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_no_bytes_from_another_program_ever_raise_or_open_a_session(chunks: list[bytes]) -> None:
    session = Session(CONTROLLER)
    session.start(0)
    for t, chunk in enumerate(chunks):
        assert session.receive(chunk, t * MS) == []
        session.poll(t * MS)
    assert session.state in (LinkState.ASKING, LinkState.LOST)


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(sorted(m.MESSAGES)), st.integers(0, 3), st.integers(0, 3), st.binary(max_size=120)
        ),
        max_size=30,
    )
)
def test_no_whole_frame_however_odd_ever_raises(frames: list[tuple[int, int, int, bytes]]) -> None:
    stage = Stage().up()
    session = stage.controller.session
    assert session.identity is not None
    sessions = (0, 1, session.identity.boot, session._session)
    for kind, which, seq, fill in frames:
        size = m.MESSAGES[kind].LAYOUT.size
        payload = (fill + bytes(size))[:size]
        session.submit(m.Disarm())
        session.poll(stage.now_ns)
        session.receive(framing.encode(framing.Frame(kind, sessions[which], seq, 0, payload)), stage.now_ns)
    assert session.state in LinkState


def test_a_command_on_a_link_that_is_not_up_is_unsent() -> None:
    session = Session(CONTROLLER)
    ticket = session.submit(m.Arm())
    assert list(session.outcomes) == [Outcome(ticket, Ending.UNSENT)]


def test_a_command_that_is_never_answered_is_unknown_not_failed() -> None:
    stage = Stage().up()
    stage.controller.to_host.cut = True
    assert stage.do(m.Disarm()).ending is Ending.UNKNOWN


def test_a_stop_overtakes_what_waits() -> None:
    stage = Stage().armed()
    tickets = [stage.controller.session.submit(stage.setpoints(500, bed_back=k)) for k in range(20)]
    stop = stage.controller.session.stop_now()
    stage.run(3)
    assert stage.node.state is m.State.SAFE
    assert stage.controller.outcomes[stop].ending is Ending.DONE
    assert {stage.controller.outcomes[t].ending for t in tickets} == {Ending.UNSENT}


def test_telemetry_that_is_lost_is_counted() -> None:
    stage = Stage().up()
    before = stage.controller.session.gaps
    stage.controller.to_host.cut = True
    stage.run(50)
    stage.controller.to_host.cut = False
    stage.run(20)
    assert stage.controller.session.gaps - before == 10


def through_faults(commands: int, faults: WireFaults, seed: int) -> Counter[str]:
    """Send commands through faults, check every promise against the node's own trace; return counts."""
    stage = Stage(faults, seed, heartbeat_ms=500, silent_ns=2000 * MS, tries=6, answer_ns=5000 * MS).up()
    wire = stage.controller
    first = stage.node.traced
    for _ in range(commands):
        ticket = wire.session.submit(m.Disarm())
        while ticket not in wire.outcomes:
            stage.run(1)
        assert wire.session.state is LinkState.UP, wire.session.why
    stage.run(200)  # let everything late arrive
    executed: Counter[int] = Counter()
    lap, last = 0, 0
    for k in range(first, stage.node.traced):
        session, seq, kind = stage.node.trace(k)
        assert (session, kind) == (wire.session._session, m.Disarm.KIND)
        lap += seq < last - 0x8000
        last = seq
        executed[lap * 0xFFFF + seq] += 1
    count: Counter[str] = Counter({"executed twice": sum(n > 1 for n in executed.values())})
    for ticket in range(1, commands + 1):  # the ticket counts what the 16-bit sequence number wraps
        ending, times = wire.outcomes[ticket].ending, executed[ticket]
        count[ending] += 1
        count["done but not executed"] += ending is Ending.DONE and times == 0
        count["refused but executed"] += ending is Ending.REFUSED and times > 0
    count["lost silently"] = commands - sum(count[e] for e in Ending)
    count.update({f"fault {name}": n for name, n in (wire.to_node.done + wire.to_host.done).items()})
    return count


def promises_hold(count: Counter[str]) -> None:
    assert count["executed twice"] == 0
    assert count["lost silently"] == 0
    assert count["done but not executed"] == 0
    assert count["refused but executed"] == 0
    for fault in ("drop", "garble", "duplicate", "delay", "split"):
        assert count[f"fault {fault}"] > 0, fault


def test_through_every_fault_nothing_is_executed_twice_and_nothing_is_lost_silently() -> None:
    count = through_faults(1000, BAD, 5)
    promises_hold(count)
    assert count[Ending.DONE] > 900


@pytest.mark.soak
def test_100_000_commands_through_every_fault() -> None:
    count = through_faults(100_000, BAD, 6)
    print(dict(count))
    promises_hold(count)


def test_under_heavy_faults_commands_end_unknown_rather_than_twice() -> None:
    heavy = WireFaults(
        drop=0.35, garble=0.002, duplicate=0.3, delay=0.3, split=0.2, delay_s=0.3, latency_s=0.002
    )
    count = through_faults(150, heavy, 7)
    promises_hold(count)
    assert count[Ending.UNKNOWN] > 0


def test_faults_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="drop"):
        WireFaults(drop=1.5)
    with pytest.raises(UsageError, match="latency_s"):
        WireFaults(latency_s=float("nan"))


def exchange(host_ns: int, drift: float, out_ns: int, back_ns: int) -> Exchange:
    def node_us(t_ns: int) -> int:
        return round((t_ns - 5_000_000_000) * (1 + drift) / 1000)

    return Exchange(
        host_ns,
        node_us(host_ns + out_ns),
        node_us(host_ns + out_ns + 20_000),
        host_ns + out_ns + 20_000 + back_ns,
    )


@given(
    st.floats(-200e-6, 200e-6),
    st.lists(st.tuples(st.integers(20_000, 400_000), st.integers(20_000, 400_000)), min_size=12, max_size=40),
)
def test_the_clock_map_is_right_within_its_stated_uncertainty(
    drift: float, delays: list[tuple[int, int]]
) -> None:
    sync = ClockSync()
    for k, (out_ns, back_ns) in enumerate(delays):
        sync.add(exchange(6_000_000_000 + k * 987 * MS, drift, out_ns, back_ns))
    assert sync.clock is not None
    now_ns = 6_000_000_000 + len(delays) * 987 * MS
    node_us = round((now_ns - 5_000_000_000) * (1 + drift) / 1000)
    worst_ns = max(max(d) for d in delays) / 2 + 2000
    assert abs(sync.clock.host_ns(node_us) - now_ns) <= 3 * max(sync.clock.uncertainty_ns, worst_ns)
    assert (
        abs(sync.clock.node_us(now_ns) - node_us) <= 3 * max(sync.clock.uncertainty_ns, worst_ns) / 1000 + 1
    )


def test_an_exchange_far_off_the_line_is_rejected_and_kept_for_review() -> None:
    sync = ClockSync()
    for k in range(10):
        sync.add(exchange(6_000_000_000 + k * 987 * MS, 0.0, 50_000, 50_000))
    good = sync.clock
    wild = exchange(6_000_000_000 + 10 * 987 * MS, 0.0, 50_000, 50_000)
    sync.add(
        Exchange(
            wild.host_sent_ns, wild.node_received_us + 900, wild.node_sent_us + 900, wild.host_received_ns
        )
    )
    assert sync.rejected == 1
    assert sync.clock == good
    assert len(sync.raw) == 11


def test_time_is_mapped_right_after_the_nodes_32_bits_have_wrapped() -> None:
    stage = Stage()
    stage.node.advance(2**32 + 10_000_000, 1_000_000)
    stage.node.take(0), stage.node.take(1)
    stage.controller, stage.monitor = stage.join(m.Role.CONTROLLER, 0), stage.join(m.Role.MONITOR, 1)
    stage.wires = [stage.controller, stage.monitor]
    stage.up()
    stage.run(50)
    clock, newest = stage.controller.session.clocks.clock, stage.controller.received[-1]
    assert clock is not None
    assert abs(clock.host_ns(newest.node_us) - newest.arrived_ns) <= 2 * MS


def test_a_frame_is_what_the_codec_says() -> None:
    frame = codec.framed(m.EventAck(513), 7, 8, 2**32 + 9)
    assert (frame.kind, frame.session, frame.seq, frame.t_us, frame.payload) == (9, 7, 8, 9, b"\x01\x02")
