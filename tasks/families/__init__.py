"""Task families of other tiers: data with the form of ours, so that their results can be read beside ours."""
