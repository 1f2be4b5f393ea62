"""A simulated bench that is really looked at: what its cameras show is drawn, and read off the pictures.

In place of the fitted sensor models. A stretch is run in pieces that end where a camera exposes; then the scene is
drawn, the frame is inspected and read by the code that serves real cameras, and what was read is what the channels show
one latency later. A frame with a blinding flaw gives nothing, and the last reading grows old.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rig.core.backend import Stop, Stretch
from rig.core.camera import CameraSpec
from rig.core.channel import FloatArray, Snapshot, Trace, joined
from rig.core.command import Plan
from rig.core.event import Event, Kind, Severity
from rig.core.watch import Guard, Watch
from rig.kinematics import JOINTS, Kinematics
from rig.sim.backend import SimBackend
from rig.trial.parts import Recorder
from rig.trial.sight import image_of
from rig.trial.wrapped import Wrapped
from rig.vision.fitness import looks_of
from rig.vision.frame import BLINDING, Flaw, Inspector
from rig.vision.perceive import Detector
from rig.vision.source import Camera, CameraFailure


@dataclass(slots=True)
class Eye:
    """A camera that is looked through whenever it exposes.

    Attributes:
        spec: The camera.
        camera: Gives its frames, with whatever is wrong with them.
        reader: Reads them.
    """

    spec: CameraSpec
    camera: Camera
    reader: Detector
    _inspector: Inspector = field(init=False)
    _number: int = field(default=-1, init=False)
    _recorded: int = field(default=-1, init=False)
    _flaws: frozenset[Flaw] = field(default=frozenset(), init=False)
    _pending: deque[tuple[int, int, dict[str, float]]] = field(default_factory=deque, init=False)
    """When to show, when exposed, what."""

    def __post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start again at time zero."""
        self._inspector = Inspector(looks_of(self.spec))
        self._number = self._recorded = -1
        self._pending.clear()

    def ticks(self, now_ns: int, period_ns: int) -> int:
        """Return how many ticks go by before it exposes, or what it saw is due to be shown."""
        ticks = -(-((self._number + 1) * self.spec.period_ns - now_ns) // period_ns)
        if self._pending:
            ticks = min(ticks, -(-(self._pending[0][0] - now_ns) // period_ns) - 1)
        return max(1, ticks)

    def deliver(self, world: SimBackend, tick_ns: int) -> None:
        """Let the channels show, from the tick at ``tick_ns`` on, what has been read by then."""
        while self._pending and self._pending[0][0] <= tick_ns:
            _, exposed_ns, values = self._pending.popleft()
            world.give(values, exposed_ns)

    def expose(self, now_ns: int, tip_m: FloatArray | None, recorder: Recorder) -> None:
        """Take a picture if one is due, and read it; it is shown when its latency has passed."""
        number = now_ns // self.spec.period_ns
        if number <= self._number:
            return
        self._number = number
        try:
            frame = self.camera.frame(now_ns)
            flaws = self._inspector.inspect(frame, now_ns) & BLINDING
        except CameraFailure:
            frame, flaws = None, frozenset({Flaw.SILENT})
        self._say(flaws, now_ns, recorder)
        if frame is not None and not flaws:
            read = self.reader.read(frame, tip_m)
            values = {name: found.value for name, found in read.items() if found.value is not None}
            self._pending.append((frame.exposed_ns + self.spec.latency_ns, frame.exposed_ns, values))
        if frame is not None and now_ns // self.spec.record_every_ns > self._recorded:
            self._recorded = now_ns // self.spec.record_every_ns
            if (image := image_of(self.spec, frame, now_ns)) is not None:
                recorder.image(image)

    def _say(self, flaws: frozenset[Flaw], now_ns: int, recorder: Recorder) -> None:
        """Put on record when it goes blind, and when it sees again."""
        if flaws != self._flaws:
            detail = ", ".join(sorted(flaws)) or "sees again"
            body = {"what": "camera", "channel": self.spec.name, "detail": detail}
            severity = Severity.WARNING if flaws else Severity.NOTICE
            kind = Kind.FAULT if flaws else Kind.NOTED
            recorder.append(Event(now_ns, kind, "camera", {**body, "text": detail}, severity))
        self._flaws = flaws


class RenderedBackend(Wrapped):
    """A backend whose camera channels are read off frames.

    Args:
        backend: The simulated bench; it must have been made with these channels as `given`.
        eyes: The cameras.
        recorder: Takes frames and the events of flaws.
    """

    def __init__(self, backend: SimBackend, eyes: Sequence[Eye], recorder: Recorder) -> None:
        super().__init__(backend)
        self._world, self._eyes, self._recorder = backend, tuple(eyes), recorder
        self._arm = Kinematics(backend.bench.scene, backend.bench.tool)

    def stretch(self, plan: Plan, watch: Watch, guards: Sequence[Guard] = ()) -> Stretch:
        """Run a plan as the backend would, looking through each camera whenever it exposes.

        Raises:
            RigFault: As the backend.
        """
        done: list[Trace] = []
        at = 0
        while at < len(plan):
            for eye in self._eyes:
                eye.deliver(self._world, self._world.now_ns + plan.period_ns)
            ticks = min(eye.ticks(self._world.now_ns, plan.period_ns) for eye in self._eyes)
            found = self._backend.stretch(plan.part(at, at + ticks), watch, guards)
            done.append(found.trace)
            at += len(found.trace)
            self._expose()
            if found.stop is not Stop.END:
                break
        return Stretch(joined(done, self.layout), found.stop if done else Stop.END)

    def place(
        self, *, actuators: Mapping[str, float] | None = None, body: Mapping[str, float] | None = None,
        hidden: Mapping[str, float] | None = None,
    ) -> Snapshot:  # fmt: skip
        """Start at time zero with everything at rest at these values, and take the first pictures."""
        found = self._backend.place(actuators=actuators, body=body, hidden=hidden)
        for eye in self._eyes:
            eye.begin()
        self._expose()
        return found

    def _expose(self) -> None:
        tip = self._tip()
        for eye in self._eyes:
            eye.expose(self._world.now_ns, tip, self._recorder)

    def _tip(self) -> FloatArray | None:
        """Return where the arm's joints say the tip of the tool is; None where one cannot be believed."""
        now = self._world.snapshot()
        joints = np.array([now.value(joint) for joint in JOINTS])  # NaN where it is not good
        return np.asarray(self._arm.pose(joints).position) if np.isfinite(joints).all() else None
