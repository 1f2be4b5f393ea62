"""A rule's attention by its definition: what the kernel's table of words is compared with."""

CLEAR, VIOLATED, LOST = 0, 1, 2
HOLDS, BROKEN, UNKNOWN = 0, 1, 2


def attention(t_ns, raw, timing):
    """Return the attention at every tick, from the raw verdicts (0 holds, 1 broken, 2 unknown)."""
    found = []
    for k in range(len(raw)):
        before = found[-1] if found else CLEAR
        known = [j for j in range(k + 1) if raw[j] != UNKNOWN or j == 0]
        not_clear = [j for j in range(k + 1) if raw[j] != HOLDS]
        confirmed = any(
            t_ns[k] - t_ns[j] >= timing.confirm_ns and all(r == BROKEN for r in raw[j : k + 1])
            for j in range(k + 1)
        )
        lost = (
            before == CLEAR and raw[k] == UNKNOWN and k > 0 and t_ns[k] - t_ns[known[-1]] >= timing.grace_ns
        )
        quiet = raw[k] == HOLDS and (not not_clear or t_ns[k] - t_ns[not_clear[-1]] >= timing.clear_ns)
        if confirmed:
            found.append(VIOLATED)
        elif lost:
            found.append(LOST)
        elif before != CLEAR and quiet:
            found.append(CLEAR)
        else:
            found.append(before)
    return found
