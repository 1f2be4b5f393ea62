"""The handover task: give somebody a mug or scissors, into a hand that has hold of it."""
