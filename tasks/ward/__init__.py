"""A ward: several residents with care records, a medicine cart with a tablet ledger, meals in rooms."""
