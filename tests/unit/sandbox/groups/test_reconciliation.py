"""One step of a member towards its target."""

from kctl.sandbox.groups.reconciliation import TABLE, MemberProgress, MemberState, Slot, next_step

P0, P1, P2, P3 = (Slot(b"\1" * 16, index) for index in range(4))
NOBODY_HAS_IT, SOMEBODY_HAS_IT = (lambda _slot: True), (lambda _slot: False)


def test_the_table_knows_every_case() -> None:
    assert set(TABLE) == {(gives, waits) for gives in (False, True) for waits in (False, True)}


def test_at_its_target_nothing_happens() -> None:
    now = MemberProgress(epoch=3, assigned=(P0,))
    assert next_step(now, 3, [P1], None, NOBODY_HAS_IT) is now


def test_free_partitions_are_assigned_at_once_and_the_rest_later() -> None:
    now = MemberProgress(epoch=1, assigned=(P0,))
    step = next_step(now, 2, [P0, P1, P2], None, lambda slot: slot == P1)
    assert step == MemberProgress(MemberState.UNRELEASED, 2, (P0, P1))
    assert next_step(step, 2, [P0, P1, P2], None, SOMEBODY_HAS_IT) == step
    assert next_step(step, 2, [P0, P1, P2], None, NOBODY_HAS_IT) == MemberProgress(MemberState.STABLE, 2, (P0, P1, P2))


def test_member_revokes_before_it_is_assigned_and_keeps_its_epoch_until_then() -> None:
    now = MemberProgress(epoch=1, assigned=(P0, P1))
    step = next_step(now, 2, [P0, P2], {P0, P1}, NOBODY_HAS_IT)
    assert step == MemberProgress(MemberState.UNREVOKED, 1, (P0,), (P1,))
    assert step.owns(P1)
    assert next_step(step, 2, [P0, P2], None, NOBODY_HAS_IT) == step
    assert next_step(step, 2, [P0, P2], {P1}, NOBODY_HAS_IT) == step
    assert next_step(step, 2, [P0, P2], {P0}, NOBODY_HAS_IT) == MemberProgress(MemberState.STABLE, 2, (P0, P2))


def test_partition_that_a_member_never_owned_needs_no_revocation() -> None:
    now = MemberProgress(epoch=1, assigned=(P0, P1))
    assert next_step(now, 2, [P3], set(), NOBODY_HAS_IT) == MemberProgress(MemberState.STABLE, 2, (P3,))
