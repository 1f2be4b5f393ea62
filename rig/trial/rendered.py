"""A simulated bench that is really looked at: what its face camera shows is drawn, and read off the pictures.

In place of the fitted sensor model. A stretch is run in pieces that end where the camera exposes; then the scene is
drawn, the frame is inspected and read by the code that serves real cameras, and what was read is what the channels show
one latency later. A frame with a blinding flaw gives nothing, and the last reading grows old.
"""

from collections import deque
from collections.abc import Mapping, Sequence

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
from rig.vision.face import CHANNELS, FaceDetector
from rig.vision.fitness import looks_of
from rig.vision.frame import BLINDING, Flaw, Inspector
from rig.vision.source import Camera, CameraFailure


class RenderedBackend(Wrapped):
    """A backend whose camera channels are read off frames.

    Args:
        backend: The simulated bench; it must have been made with these channels as `given`.
        spec: The camera.
        camera: Gives its frames, with whatever is wrong with them.
        detector: Reads them.
        recorder: Takes frames and the events of flaws.
    """

    def __init__(
        self,
        backend: SimBackend,
        spec: CameraSpec,
        camera: Camera,
        detector: FaceDetector,
        recorder: Recorder,
    ) -> None:
        super().__init__(backend)
        self._world, self._spec, self._camera = backend, spec, camera
        self._detector, self._recorder = detector, recorder
        self._arm = Kinematics(backend.bench.scene, backend.bench.tool)
        self._inspector = Inspector(looks_of(spec))
        self._number, self._recorded = -1, -1
        self._pending: deque[tuple[int, int, dict[str, float]]] = deque()  # when to show, when exposed, what
        self._flaws: frozenset[Flaw] = frozenset()

    def stretch(self, plan: Plan, watch: Watch, guards: Sequence[Guard] = ()) -> Stretch:
        """Run a plan as the backend would, looking through the camera whenever it exposes.

        Raises:
            RigFault: As the backend.
        """
        done: list[Trace] = []
        at = 0
        while at < len(plan):
            self._deliver(self._world.now_ns + plan.period_ns)
            found = self._backend.stretch(plan.part(at, at + self._ticks(plan.period_ns)), watch, guards)
            done.append(found.trace)
            at += len(found.trace)
            self._expose()
            if found.stop is not Stop.END:
                break
        return Stretch(joined(done, self.layout), found.stop if done else Stop.END)

    def _ticks(self, period_ns: int) -> int:
        """Return how many ticks go by before the camera exposes, or what it saw is due to be shown."""
        now_ns = self._world.now_ns
        ticks = -(-((self._number + 1) * self._spec.period_ns - now_ns) // period_ns)
        if self._pending:
            ticks = min(ticks, -(-(self._pending[0][0] - now_ns) // period_ns) - 1)
        return max(1, ticks)

    def _deliver(self, tick_ns: int) -> None:
        """Let the channels show, from the tick at ``tick_ns`` on, what has been read by then."""
        while self._pending and self._pending[0][0] <= tick_ns:
            _, exposed_ns, values = self._pending.popleft()
            self._world.give(values, exposed_ns)

    def place(
        self, *, actuators: Mapping[str, float] | None = None, body: Mapping[str, float] | None = None,
        hidden: Mapping[str, float] | None = None,
    ) -> Snapshot:  # fmt: skip
        """Start at time zero with everything at rest at these values, and take the first picture."""
        found = self._backend.place(actuators=actuators, body=body, hidden=hidden)
        self._inspector = Inspector(looks_of(self._spec))
        self._number = self._recorded = -1
        self._pending.clear()
        self._expose()
        return found

    def _expose(self) -> None:
        """Take a picture if one is due, read it, and give the channels what was read."""
        now_ns = self._world.now_ns
        number = now_ns // self._spec.period_ns
        if number <= self._number:
            return
        self._number = number
        try:
            frame = self._camera.frame(now_ns)
            flaws = self._inspector.inspect(frame, now_ns) & BLINDING
        except CameraFailure:
            frame, flaws = None, frozenset({Flaw.SILENT})
        self._say(flaws, now_ns)
        if frame is not None and not flaws:
            read = self._detector.read(frame, self._tip())
            values = {name: v for name in CHANNELS if (v := read[name].value) is not None}
            self._pending.append((frame.exposed_ns + self._spec.latency_ns, frame.exposed_ns, values))
        if frame is not None and now_ns // self._spec.record_every_ns > self._recorded:
            self._recorded = now_ns // self._spec.record_every_ns
            if (image := image_of(self._spec, frame, now_ns)) is not None:
                self._recorder.image(image)

    def _tip(self) -> FloatArray | None:
        """Return where the arm's joints say the tip of the spoon is; None where one cannot be believed."""
        now = self._world.snapshot()
        joints = np.array([now.value(joint) for joint in JOINTS])  # NaN where it is not good
        return np.asarray(self._arm.pose(joints).position) if np.isfinite(joints).all() else None

    def _say(self, flaws: frozenset[Flaw], now_ns: int) -> None:
        """Put on record when a camera goes blind, and when it sees again."""
        if flaws != self._flaws:
            detail = ", ".join(sorted(flaws)) or "sees again"
            body = {"what": "camera", "channel": self._spec.name, "detail": detail}
            severity = Severity.WARNING if flaws else Severity.NOTICE
            self._recorder.append(
                Event(
                    now_ns, Kind.FAULT if flaws else Kind.NOTED, "camera", {**body, "text": detail}, severity
                )
            )
        self._flaws = flaws
