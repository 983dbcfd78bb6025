"""Is never right: each time it tries another order of the lines, and none of them is the one that was asked for."""

from __future__ import annotations

from agent import BRIEF, begin, claim, write

ORDERS = ("counts", "sorted(counts)", "sorted(counts, reverse=True)", "sorted(counts, key=len)")

begin()
order = ORDERS[(BRIEF["attempt"] - 1) % len(ORDERS)]
write("report", f'    return [f"{{word}} {{counts[word]}}" for word in {order}][:most]\n')
claim("report", f"The lines follow {order}, cut to as many as were asked for; all of it works as asked.")
