"""The list of faults that are put back fits the sources. `seeded_faults.py` puts them back."""

from __future__ import annotations

import pytest

from tests.packaging.seeded_faults import FAULTS, ROOT, Fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_put_back_and_its_test_exists(fault: Fault) -> None:
    assert len(fault.places()) == 1
    file, _, test = fault.test.partition("::")
    assert f"def {test}" in (ROOT / file).read_text()


def test_every_number_of_the_list_is_there() -> None:
    numbers = {fault.name.split()[0] for fault in FAULTS}
    assert {str(number) for number in range(1, 13)} <= numbers
