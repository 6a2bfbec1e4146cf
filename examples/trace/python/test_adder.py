import pytest
from adder import LIMIT, add


@pytest.mark.requirement("REQ-001")
def test_sums_add_up():
    assert add(2, 3) == 5


# verifies REQ-002
def test_what_does_not_fit_is_refused():
    with pytest.raises(OverflowError):
        add(LIMIT - 1, 1)
