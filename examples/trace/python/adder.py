"""Sums that do not lie."""

LIMIT = 2**31


#= spexus:REQ-001
#% Sums MUST add up.
#= spexus:REQ-002
#% A sum that does not fit MUST be refused.
def add(a, b):
    total = a + b
    if not -LIMIT <= total < LIMIT:
        raise OverflowError(f"{total} does not fit")
    return total
