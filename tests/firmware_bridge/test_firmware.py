"""What the firmware does, whoever asks: built from the C sources and run in virtual time."""

import subprocess

import pytest

from firmware_bridge import codec, framing
from firmware_bridge import messages as m
from firmware_bridge.faults import WireFaults
from firmware_bridge.session import Ending
from firmware_bridge.states import LinkState
from tests.firmware_bridge.node import MS, PERFECT, Node, Stage, built

REFUSED = Ending.REFUSED
LAMP = [o.name for o in m.OUTPUTS].index("call.lamp")
BACK = [o.name for o in m.OUTPUTS].index("bed.back")


def events(stage: Stage) -> list[tuple[m.Occurrence, m.Reason]]:
    found = [r.message for r in stage.controller.received if isinstance(r.message, m.Event)]
    return [(m.Occurrence(e.occurrence), m.Reason(e.reason)) for e in found]


def test_the_core_passes_its_own_tests_under_sanitizers() -> None:
    done = subprocess.run([built("test_core"), "100000"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.soak
def test_no_garbage_frame_of_ten_million_is_accepted_by_the_core() -> None:
    done = subprocess.run([built("test_core"), "10000000"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_arms_only_with_both_heartbeats() -> None:
    stage = Stage()
    stage.wires = [stage.controller]
    stage.run(100)
    assert stage.do(m.Arm()).refusal is m.Refusal.HEARTBEAT_MISSING
    stage.wires = [stage.controller, stage.monitor]
    stage.run(100)
    assert stage.do(m.Arm()).ending is Ending.DONE


def test_a_setpoint_is_followed_at_the_hardware_rate_and_never_faster() -> None:
    stage = Stage().armed()
    assert stage.do(stage.setpoints(2000, bed_back=3000)).ending is Ending.DONE
    last = stage.node.driven(BACK)
    for _ in range(1200):
        stage.run(1)
        assert 0 <= stage.node.driven(BACK) - last <= 3  # 3 deg/s at 1e-3 deg a count, 1 ms
        last = stage.node.driven(BACK)
    assert last == 3000


@pytest.mark.parametrize("value", [80_001, -1, 2**31 - 1, -(2**31)])
def test_nothing_outside_the_hard_limits_is_executed_and_the_rest_of_the_batch_neither(value: int) -> None:
    stage = Stage().armed()
    outcome = stage.do(stage.setpoints(500, arm_base=1000, bed_back=value))
    assert (outcome.ending, outcome.refusal) == (REFUSED, m.Refusal.OUT_OF_RANGE)
    stage.run(200)
    assert stage.node.driven(0) == 0
    assert stage.node.driven(BACK) == 0


def test_a_setpoint_that_is_not_renewed_lapses_and_the_output_holds_where_it_is() -> None:
    stage = Stage().armed()
    stage.do(stage.setpoints(100, bed_back=80_000, call_lamp=0))
    stage.run(300)
    held = stage.node.driven(BACK)
    assert 250 <= held <= 300  # 100 ms at 3 deg/s
    assert stage.node.driven(LAMP) == 1  # and the lamp calls for a carer
    stage.run(300)
    assert stage.node.driven(BACK) == held
    assert stage.node.state is m.State.ARMED
    status = stage.controller.session.status
    assert status is not None
    assert status.lapsed == 2


@pytest.mark.parametrize(("lease_ms", "refusal"), [(0, "EXPIRED"), (-5, "EXPIRED"), (2100, "LEASE_TOO_LONG")])
def test_a_lease_must_be_open_and_short(lease_ms: int, refusal: str) -> None:
    stage = Stage().armed()
    assert stage.do(stage.setpoints(lease_ms, bed_back=10)).refusal is m.Refusal[refusal]


@pytest.mark.parametrize(
    ("who", "reason"), [("controller", m.Reason.CONTROLLER_LOST), ("monitor", m.Reason.MONITOR_LOST)]
)
def test_either_heartbeat_missing_makes_it_safe_within_its_time(who: str, reason: m.Reason) -> None:
    stage = Stage().armed()
    stage.do(stage.setpoints(2000, bed_back=80_000))
    wire = getattr(stage, who)
    wire.to_node.cut = wire.to_host.cut = True
    start = stage.node.now_us
    while stage.node.state is m.State.ARMED:
        stage.run(1)
    assert stage.node.state is m.State.SAFE
    assert stage.node.reason is reason
    assert 80_000 - 20_000 <= stage.node.now_us - start <= 101_000
    held = stage.node.driven(BACK)
    stage.run(500)
    assert stage.node.driven(BACK) == held


def test_a_host_that_was_stopped_and_goes_on_does_not_move_anything_again() -> None:
    stage = Stage().armed()
    stage.controller.frozen = True
    stage.run(1000)
    assert stage.node.state is m.State.SAFE
    stage.controller.frozen = False
    stage.run(2000)
    assert stage.node.state is m.State.SAFE


def test_old_heartbeats_released_late_prove_nothing() -> None:
    stage = Stage(WireFaults(latency_s=0.150), retry_ns=400 * MS, silent_ns=1000 * MS).up()
    stage.run(1000)
    assert stage.do(m.Arm()).refusal is m.Refusal.HEARTBEAT_MISSING


def test_the_monitor_vetoes_by_saying_it_is_not_well() -> None:
    stage = Stage().armed()
    stage.monitor.session.ok = False
    stage.run(25)
    assert (stage.node.state, stage.node.reason) == (m.State.SAFE, m.Reason.MONITOR_VETO)


def test_a_controller_that_does_not_know_it_is_armed_is_not_left_in_charge() -> None:
    stage = Stage().armed()
    stage.controller.session._armed = False
    stage.run(130)
    assert (stage.node.state, stage.node.reason) == (m.State.SAFE, m.Reason.ARMED_MISMATCH)


def test_the_emergency_stop_works_within_three_milliseconds_and_release_does_not_rearm() -> None:
    stage = Stage().armed()
    stage.node.estop(True)
    stage.run(3)
    assert (stage.node.state, stage.node.reason) == (m.State.SAFE, m.Reason.ESTOP)
    stage.node.estop(False)
    stage.run(3000)
    assert stage.node.state is m.State.SAFE
    assert (m.Occurrence.ESTOP_PRESSED, m.Reason.ESTOP) in events(stage)
    assert (m.Occurrence.ESTOP_RELEASED, m.Reason.ESTOP) in events(stage)


def test_a_glitch_on_the_emergency_stop_is_no_press() -> None:
    stage = Stage().armed()
    stage.node.estop(True)
    stage.run(1)
    stage.node.estop(False)
    stage.run(50)
    assert stage.node.state is m.State.ARMED


def test_low_supply_makes_it_safe() -> None:
    stage = Stage().armed()
    stage.node.supply(9_999)
    stage.run(2)
    assert (stage.node.state, stage.node.reason) == (m.State.SAFE, m.Reason.SUPPLY_LOW)


def test_the_first_reason_stays() -> None:
    stage = Stage().armed()
    stage.do(m.Stop())
    stage.node.estop(True)
    stage.run(100)
    assert stage.node.reason is m.Reason.STOP_REQUESTED


def test_the_monitor_may_stop_and_nothing_else() -> None:
    stage = Stage().up()
    assert stage.do(m.Arm(), stage.monitor).refusal is m.Refusal.WRONG_ROLE
    assert stage.do(stage.setpoints(100, bed_back=1), stage.monitor).refusal is m.Refusal.WRONG_ROLE
    assert stage.do(m.Stop(), stage.monitor).ending is Ending.DONE
    assert (stage.node.state, stage.node.reason) == (m.State.SAFE, m.Reason.STOP_REQUESTED)


def test_anybody_may_stop_it_even_without_a_session() -> None:
    stage = Stage().armed()
    stage.node.receive(1, framing.encode(codec.framed(m.Stop(), 12345, 1, 0)))
    assert (stage.node.state, stage.node.reason) == (m.State.SAFE, m.Reason.STOP_REQUESTED)


def stopped() -> Stage:
    stage = Stage().armed()
    assert stage.do(m.Stop()).ending is Ending.DONE
    stage.run(1100)
    return stage


def nonce(stage: Stage) -> int:
    outcome = stage.do(m.RequestClear())
    assert outcome.ending is Ending.DONE
    return outcome.detail


def test_safe_is_cleared_by_the_nodes_nonce_and_a_person_and_then_is_idle_not_armed() -> None:
    stage = stopped()
    assert stage.do(m.Clear(nonce(stage), 4711)).ending is Ending.DONE
    assert stage.node.state is m.State.IDLE
    stage.run(5)
    found = [r.message for r in stage.controller.received if isinstance(r.message, m.Event)]
    assert [e.detail for e in found if e.occurrence == m.Occurrence.CLEARED] == [4711]


def test_a_nonce_serves_once_and_only_the_right_one() -> None:
    stage = stopped()
    number = nonce(stage)
    assert stage.do(m.Clear(number ^ 1, 4711)).refusal is m.Refusal.BAD_NONCE
    assert stage.do(m.Clear(number, 4711)).refusal is m.Refusal.BAD_NONCE
    assert stage.node.state is m.State.SAFE


def test_a_nonce_grows_old() -> None:
    stage = stopped()
    number = nonce(stage)
    stage.run(30_001)
    assert stage.do(m.Clear(number, 4711)).refusal is m.Refusal.BAD_NONCE


def test_nobody_clears_it_without_a_person() -> None:
    stage = stopped()
    assert stage.do(m.Clear(nonce(stage), 0)).refusal is m.Refusal.NO_OPERATOR


def test_it_is_not_cleared_while_the_cause_is_there() -> None:
    stage = stopped()
    stage.node.estop(True)
    stage.run(10)
    assert stage.do(m.Clear(nonce(stage), 4711)).refusal is m.Refusal.CAUSE_PRESENT


def test_it_is_not_cleared_until_heartbeats_have_been_whole_for_a_second() -> None:
    stage = stopped()
    stage.monitor.to_node.cut = True
    stage.run(200)
    stage.monitor.to_node.cut = False
    stage.run(500)
    assert stage.do(m.Clear(nonce(stage), 4711)).refusal is m.Refusal.HEARTBEAT_MISSING
    stage.run(700)
    assert stage.do(m.Clear(nonce(stage), 4711)).ending is Ending.DONE


def test_arming_starts_from_where_things_are_measured_to_be() -> None:
    stage = Stage().up()
    stage.node.move(BACK, 20_000)
    assert stage.do(m.Arm()).ending is Ending.DONE
    stage.run(50)
    assert stage.node.driven(BACK) == 20_000


@pytest.mark.parametrize("cause", list(m.ResetCause))
def test_a_reset_is_noticed_and_leaves_it_unarmed(cause: m.ResetCause) -> None:
    stage = Stage().armed()
    stage.node.reset(cause)
    stage.run(50)
    assert stage.controller.session.state is LinkState.LOST
    assert "restarted" in stage.controller.session.why
    assert stage.node.state is (m.State.SAFE if cause is m.ResetCause.WATCHDOG else m.State.IDLE)


def test_a_second_controller_is_refused_while_the_first_lives_and_let_in_after_it() -> None:
    stage = Stage().up()
    second = stage.join(m.Role.CONTROLLER, 1, nonce=500)
    stage.wires = [stage.controller, second]
    stage.run(60)
    assert second.session.state is LinkState.REFUSED
    assert "another controller is in charge" in second.session.why
    stage.wires = []
    stage.run(150)
    third = stage.join(m.Role.CONTROLLER, 0, PERFECT, nonce=600)
    stage.wires = [third]
    stage.run(300)
    assert third.session.state is LinkState.UP


def test_a_node_of_another_description_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()
    for module in (m, framing):
        monkeypatch.setattr(module, "FINGERPRINT", 0x12345678)
    stage.run(50)
    assert stage.controller.session.state is LinkState.REFUSED
    assert "flash the firmware" in stage.controller.session.why


def test_a_sensor_that_does_not_answer_is_marked_not_guessed() -> None:
    stage = Stage().up()
    stage.node.channel(11, silent=True)
    stage.run(20)
    newest = [r.message for r in stage.controller.received if isinstance(r.message, m.Telemetry)][-1]
    assert newest.valid == (1 << len(m.INPUTS)) - 1 - (1 << 11)


def test_the_hardware_watchdog_is_fed_once_a_step() -> None:
    node = Node()
    node.advance(50_000)
    assert node.kicks == 50


def test_an_event_is_repeated_until_acknowledged_and_reported_once() -> None:
    stage = Stage().up()
    stage.controller.to_host.cut = True
    stage.monitor.to_host.cut = True
    stage.run(60)
    assert stage.do(m.Stop(), stage.monitor).ending in (Ending.UNKNOWN, Ending.UNSENT)
    stage.controller.to_host.cut = stage.monitor.to_host.cut = False
    stage.run(300)
    assert events(stage).count((m.Occurrence.TRIPPED, m.Reason.STOP_REQUESTED)) == 1


@pytest.mark.parametrize("kind", sorted(m.MESSAGES))
@pytest.mark.parametrize("extra", [-1, 1])
def test_a_message_of_another_length_is_refused_by_name(kind: int, extra: int) -> None:
    size = m.MESSAGES[kind].LAYOUT.size + extra
    if size < 0:
        pytest.skip("no payload is shorter than none")
    node = Node()
    node.receive(0, framing.encode(framing.Frame(kind, 0, 9, 0, bytes(size))))
    (frame,) = framing.Decoder().feed(node.take(0))
    assert codec.unpack(frame.kind, frame.payload) == m.Nak(m.Refusal.BAD_LENGTH, 0)
