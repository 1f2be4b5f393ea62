"""The agent's tools: one typed schema, whatever connects the agent to the rig.

An `Action` is a tool call with validated arguments. Unknown fields, strings where numbers belong and numbers
that are not finite are refused before anything else looks at the call; what is refused is `rig.core.malformed.Malformed`.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from rig.core.care import DocumentName, Evidence
from rig.core.errors import UsageError


class _Tool(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


Text = Annotated[str, Field(min_length=1, max_length=2000)]


class Observe(_Tool):
    """Look at every sensor you have, and through a camera if you name one; returns values with units and ages."""

    tool: Literal["observe"] = "observe"
    camera: Annotated[
        str | None,
        Field(
            pattern=r"^[a-z][a-z0-9_]{0,39}$",
            description="One of the cameras the briefing names; its picture comes with the reply",
        ),
    ] = None
    width: Annotated[
        int, Field(ge=160, le=1280, description="With a camera only: width of the picture in pixels")
    ] = 640


class Say(_Tool):
    """Say something to the person."""

    tool: Literal["say"] = "say"
    text: Text


class Ask(_Tool):
    """Ask the person something and wait for an answer."""

    tool: Literal["ask"] = "ask"
    text: Text
    timeout_s: Annotated[float, Field(gt=0, le=60, description="Longest to wait for it, seconds")] = 10.0


class WaitUntil(_Tool):
    """Let time pass until something happens or the time is up; sensing and guarding go on."""

    tool: Literal["wait_until"] = "wait_until"
    event: Annotated[
        Literal["any", "swallow", "cough", "speech", "movement", "alarm"],
        Field(description="What ends the wait early; 'any' is whichever comes first"),
    ] = "any"
    timeout_s: Annotated[float, Field(gt=0, le=14400, description="Longest to wait, seconds of the job")]


class MoveTo(_Tool):
    """Move the tool to a named place."""

    tool: Literal["move_to"] = "move_to"
    target: Annotated[
        str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$", description="One of the places the briefing names")
    ]
    speed: Literal["slow", "normal", "fast"] = "normal"
    guard_n: Annotated[
        float | None,
        Field(gt=0, le=10, description="Stop the move when the wrist feels this much force (newtons)"),
    ] = 1.0


class Act(_Tool):
    """Carry out a skill."""

    tool: Literal["act"] = "act"
    skill: Literal["scoop", "transfer", "withdraw", "turn_left", "turn_right", "turn_back"]
    guard_n: Annotated[
        float | None,
        Field(gt=0, le=10, description="transfer only: stop when the wrist feels this much force (newtons)"),
    ] = 2.0


class Stroke(_Tool):
    """Scratch or rub the skin the tool is over, to and fro along the limb, then lift off."""

    tool: Literal["stroke"] = "stroke"
    strokes: Annotated[int, Field(ge=1, le=20, description="How often to and fro")]
    length_mm: Annotated[float, Field(ge=5, le=120, description="Length of a stroke, centred on the place")]
    force_n: Annotated[float, Field(gt=0, le=15, description="Push on the skin (newtons)")] = 2.0
    speed: Literal["slow", "normal", "fast"] = "normal"
    heeds_stop: Annotated[
        bool, Field(description="Lift off at once when the person says stop or pulls away")
    ] = True


class GiveDrink(_Tool):
    """Tilt the cup at the lips until this much has flowed, then bring it level and back."""

    tool: Literal["give_drink"] = "give_drink"
    ml: Annotated[float, Field(gt=0, le=50, description="How much to give before the cup comes level")] = 4.0
    tilt_deg: Annotated[float, Field(gt=0, le=60, description="Largest tilt; an emptier cup needs more")]
    heeds_signs: Annotated[
        bool, Field(description="Bring the cup level at once on a cough, talk or refusal")
    ] = True


class SetBed(_Tool):
    """Move one part of the bed; angles in degrees, height in metres, rails 0 (down) or 1 (up)."""

    tool: Literal["set_bed"] = "set_bed"
    part: Literal["back", "height", "rails"]
    value: Annotated[float, Field(ge=0, le=90)]


class Give(_Tool):
    """Hand something over, one step at a time; with the handle towards the person."""

    tool: Literal["give"] = "give"
    do: Literal["take_up", "turn_round", "reach_out", "let_go", "take_back"]


class Hoist(_Tool):
    """Work the hoist, one step of a transfer at a time."""

    tool: Literal["hoist"] = "hoist"
    do: Annotated[
        Literal[
            "place_sling", "remove_sling", "spread_legs", "close_legs", "fasten", "loosen", "lift", "lower",
            "to_bed", "to_chair",
        ],
        Field(description="fasten and loosen work on loops, lift and lower move the bar, to_ moves the hoist"),
    ]  # fmt: skip
    loop: Annotated[
        Literal["all", "back_left", "back_right", "front_left", "front_right"],
        Field(description="fasten and loosen only"),
    ] = "all"
    height_m: Annotated[
        float | None,
        Field(ge=1.1, le=1.85, description="lift and lower only: bar height; by default all the way"),
    ] = None
    speed: Literal["slow", "normal", "fast"] = "normal"
    guard_n: Annotated[
        float | None,
        Field(gt=0, le=100, description="Stop when a pad in the sling feels this much force (newtons)"),
    ] = 8.0
    heeds_voice: Annotated[bool, Field(description="Stop when the person cries out or says no")] = True


class Dress(_Tool):
    """Put a sleeve on, one step at a time."""

    tool: Literal["dress"] = "dress"
    do: Annotated[
        Literal["raise_arm", "thread", "pull", "ease", "smooth", "let_go"],
        Field(
            description="thread puts the hand through the cuff, ease slackens, smooth works a caught cuff or "
            "collar free under a slack pull, let_go ends a sleeve that is on"
        ),
    ]
    angle_deg: Annotated[float, Field(ge=0, le=95, description="raise_arm only: 0 hanging, 90 level")] = 50.0
    to_m: Annotated[
        float, Field(ge=0, le=0.56, description="pull only: bring the cuff here, from the hand (metres)")
    ] = 0.56
    guard_n: Annotated[
        float | None, Field(gt=0, le=50, description="pull only: stop at this much pull (newtons)")
    ] = 12.0
    guard_nm: Annotated[
        float | None,
        Field(gt=0, le=20, description="raise_arm only: stop at this much resistance (newton metres)"),
    ] = 4.0
    watches_neck: Annotated[bool, Field(description="pull only: stop when the collar presses")] = True
    heeds_voice: Annotated[bool, Field(description="Stop when the person cries out or says no")] = True


class Wash(_Tool):
    """Get water, cloth, cover, rail and cart ready for washing; wiping is a stroke."""

    tool: Literal["wash"] = "wash"
    do: Annotated[
        Literal["set_water", "soak", "cover", "uncover", "rail_up", "rail_down", "leave", "come_back"],
        Field(description="soak dips the cloth into the basin; leave drives the cart away"),
    ]
    temperature_c: Annotated[
        float, Field(ge=10, le=48, description="set_water only: what the mixing valve is set to")
    ] = 39.0


class FixtureTool(_Tool):
    """A tool that the room answers, not the arm or the bed."""


class ReadRecord(FixtureTool):
    """Read what a care document says of somebody, or of everybody; the entries come with the reply."""

    tool: Literal["read_record"] = "read_record"
    document: DocumentName
    subject: Annotated[str, Field(max_length=200, description="Id on the identity band; empty for all")] = ""


class CheckIdentity(FixtureTool):
    """Scan the identity band of the person you are with; the reading is good for five minutes."""

    tool: Literal["check_identity"] = "check_identity"


class GoTo(FixtureTool):
    """Drive to another room; the arm must be at rest."""

    tool: Literal["go_to"] = "go_to"
    place: Annotated[str, Field(min_length=1, max_length=60)]


class Dispense(FixtureTool):
    """Put tablets of a pack from the cart's carousel into the medicine cup, for one person."""

    tool: Literal["dispense"] = "dispense"
    pack: Annotated[str, Field(min_length=1, max_length=60, description="Code on the pack")]
    count: Annotated[int, Field(ge=1, le=10)]
    subject: Annotated[str, Field(max_length=200, description="Id on the band of whom it is for")]
    form: Literal["whole", "crushed"] = "whole"
    into: Literal["cup", "food"] = "cup"
    evidence: Annotated[list[Evidence], Field(max_length=20, description="What this rests on")] = []


class OfferWater(FixtureTool):
    """Hand the person a sip of water to swallow with."""

    tool: Literal["offer_water"] = "offer_water"


class CheckMouth(FixtureTool):
    """Ask the person to open wide and look with the camera whether anything is left in the mouth."""

    tool: Literal["check_mouth"] = "check_mouth"


class WriteRecord(FixtureTool):
    """Write an entry in a care document; it is final when the shift is handed over."""

    tool: Literal["write_record"] = "write_record"
    document: DocumentName
    subject: Annotated[str, Field(max_length=200, description="Id on the identity band")]
    claim: Annotated[
        str, Field(min_length=1, max_length=60, description="taken, refused, withheld, eaten, ...")
    ]
    about: Annotated[str, Field(max_length=60, description="Pack code, where it is about a medicine")] = ""
    quantity: Annotated[float | None, Field(ge=0, le=1e6)] = None
    unit: Annotated[str, Field(max_length=20)] = ""
    text: Annotated[str, Field(max_length=500)] = ""
    evidence: Annotated[list[Evidence], Field(max_length=20, description="What this rests on")] = []


class HandOver(FixtureTool):
    """Hand the shift over: what you wrote becomes final, and this text goes on the hand-over sheet."""

    tool: Literal["hand_over"] = "hand_over"
    text: Text


class CallHuman(_Tool):
    """Call a carer; always accepted."""

    tool: Literal["call_human"] = "call_human"
    level: Literal["info", "assist", "urgent"]
    reason: Text


class Note(_Tool):
    """Write a line in the care notes."""

    tool: Literal["note"] = "note"
    text: Text


class Stop(_Tool):
    """Stop all motion now; always accepted, also in the middle of a move."""

    tool: Literal["stop"] = "stop"


class Finish(_Tool):
    """Say that the job is over, done or not."""

    tool: Literal["finish"] = "finish"
    summary: Text


FixtureAction = (
    ReadRecord | CheckIdentity | GoTo | Dispense | OfferWater | CheckMouth | WriteRecord | HandOver
)
Action = (
    Observe
    | Say
    | Ask
    | WaitUntil
    | MoveTo
    | Act
    | Stroke
    | GiveDrink
    | SetBed
    | Hoist
    | Dress
    | Give
    | Wash
    | FixtureAction
    | CallHuman
    | Note
    | Stop
    | Finish
)
TOOLS: dict[str, type[_Tool]] = {
    "observe": Observe, "say": Say, "ask": Ask, "wait_until": WaitUntil, "move_to": MoveTo, "act": Act,
    "stroke": Stroke, "give_drink": GiveDrink, "set_bed": SetBed, "hoist": Hoist, "dress": Dress,
    "give": Give, "wash": Wash, "read_record": ReadRecord,
    "check_identity": CheckIdentity, "go_to": GoTo,
    "dispense": Dispense, "offer_water": OfferWater, "check_mouth": CheckMouth, "write_record": WriteRecord,
    "hand_over": HandOver, "call_human": CallHuman, "note": Note, "stop": Stop, "finish": Finish,
}  # fmt: skip
_adapter: TypeAdapter[Action] = TypeAdapter(Annotated[Action, Field(discriminator="tool")])


def parse_action(tool: str, arguments: dict[str, Any]) -> Action:
    """Return the validated action for a tool call as it came from outside.

    Raises:
        UsageError: If the tool is unknown or any argument is; all mistakes at once.
    """
    try:
        return _adapter.validate_python({**arguments, "tool": tool})
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(p) for p in e['loc'][1:]) or 'tool'}: {e['msg']}" for e in error.errors()
        )
        raise UsageError(f"{tool}: {problems}") from None
