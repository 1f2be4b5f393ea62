"""Finding the ledger that vouches for a record: its campaign's, which lies outside the record."""

from pathlib import Path

from rig.campaign.ledger import Ledger
from rig.campaign.storage import FILE
from rig.core.record import Anchor, manifest, strict


def campaign_of(record: Path) -> Path | None:
    """Return the campaign folder a record lies in, None if it lies in none."""
    return next((home for home in record.resolve().parents if (home / FILE).is_file()), None)


def anchors_for(record: Path, campaign: Path | None = None) -> tuple[Anchor, ...]:
    """Return what a campaign's ledger vouches for of a record.

    Args:
        record: The record's folder.
        campaign: The campaign's folder; by default the one the record lies in.

    Returns:
        Nothing if it lies in none, is of another campaign, or its trial has not ended.

    Raises:
        UsageError: If a campaign was named and there is no ledger.
        RecordError: If the ledger is damaged or of another version.
    """
    home = campaign or campaign_of(record)
    if home is None:
        return ()
    try:
        said = strict.loads((record / manifest.FILE).read_bytes())
    except (OSError, ValueError):
        return ()  # whatever is wrong with the manifest, the verification says
    name = said.get("trial_id") if isinstance(said, dict) else None
    with Ledger.reading(home) as ledger:
        return ledger.anchors(str(name))
