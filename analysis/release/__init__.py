"""The release decision: separate gates on registered evidence, expiring claim by claim, never a score.

`policy` is what was decided before the data. `evidence` is what the records show, `reconcile` whether they
agree with themselves and with the ledger. `claims` says which part of the configuration each finding depends
on, and whether it still holds. `gates` turns evidence into one verdict per gate; `decision` joins them. `queue`
simulates the people who answer alarms. `dossier` writes it all down, for a board and for machines.
"""
