"""What reviewers said of what was said: the labels of speech in the reviews of a record."""

from analysis.speech import Label
from rig.console.labels import review_of
from rig.core.record import Record, reviews
from rig.core.record.reviews import ADJUDICATION, JUDGE


def spoken_labels(record: Record, *, blind: bool = False) -> list[Label]:
    """Return the locked labels of speech in a record's reviews, adjudication among them.

    Args:
        record: The record; its reviews are read from its folder.
        blind: Take the label each reviewer locked first, before anything but the trial was known, in place of the
            one that counts now. What was settled is what was settled in both cases.

    Raises:
        RecordError: If a review was altered.
        UsageError: If a review is not of this version.
    """
    found = []
    for name in reviews.reviews_in(record.folder):
        if name.startswith(JUDGE):
            continue
        review = review_of(name, reviews.read_review(record.folder, name, record.trial_id))
        label = review.first if blind else review.label if review.locked else None
        rater = f"settled:{review.by}" if name == ADJUDICATION else f"person:{name}"
        for criterion, said in (label.speech if label else {}).items():
            found.append(
                Label(
                    trial_id=record.trial_id, cluster=str(record.manifest["item"]), criterion=criterion, rater=rater,
                    found=said.found, event=said.event, why=label.rationale if label else "",
                )
            )  # fmt: skip
    return found
