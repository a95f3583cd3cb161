"""The rows that wait: one queue per key, first in, first out."""

from __future__ import annotations

from typing import Any

import pytest

from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.departure import Departure
from ml_pipes._threads.queues import Queues
from ml_pipes._threads.run import Run
from ml_pipes._threads.ticket import Ticket

BATCHER = Batcher("1:Batch", Departure(size=8, timeout_s=1.0))


def ticket(
    items: list[Any], keys: list[Any] | None = None, sizes: list[int] | None = None, joined_at: float = 10.0
) -> Ticket:
    made = Ticket(BATCHER, items, list, many=True, keys=keys, sizes=sizes)
    made.joined_at = joined_at
    return made


def joined(*tickets: Ticket) -> Queues:
    queues = Queues()
    for each in tickets:
        queues.join(each)
    return queues


def taken(queues: Queues, most: int, now: float = 10.0) -> list[Any]:
    """The items that the next batch would have."""
    run = Run(BATCHER, "")
    queues.heads(now)[0][1].take(run, most, now)
    return [row.item for row in run.rows]


def test_rows_are_taken_in_the_order_of_their_coming_across_lists() -> None:
    queues = joined(ticket([1, 2, 3]), ticket([4]), ticket([5, 6]))

    batches = [taken(queues, 4), taken(queues, 4)]

    assert batches == [[1, 2, 3, 4], [5, 6]]
    assert queues.rows == 0


def test_rows_count_by_their_sizes() -> None:
    queues = joined(ticket([1, 2, 3], sizes=[3, 3, 3]), ticket([4], sizes=[2]))

    assert queues.rows == 11
    assert [taken(queues, 8), taken(queues, 8)] == [[1, 2], [3, 4]]


def test_an_item_larger_than_the_rest_of_the_batch_is_the_first_of_the_next() -> None:
    queues = joined(ticket([1, 2, 3], sizes=[5, 4, 1]))

    assert [taken(queues, 8), taken(queues, 8)] == [[1], [2, 3]]


def test_keys_never_share() -> None:
    queues = joined(ticket([1, 2, 3, 4], keys=["a", "b", "a", "b"]))

    assert [taken(queues, 8), taken(queues, 8)] == [[1, 3], [2, 4]]


def test_the_key_whose_head_came_first_is_the_first() -> None:
    queues = joined(
        ticket([1], keys=["b"], joined_at=11.0),
        ticket([2], keys=["a"], joined_at=10.0),
        ticket([3], keys=["c"], joined_at=12.0),
    )

    heads = [head.items for head, _ in queues.heads(13.0)]

    assert heads == [[2], [1], [3]]


def test_keys_that_nobody_waits_under_are_dropped() -> None:
    queues = joined(*(ticket([at], keys=[at]) for at in range(1000)))
    for _ in range(999):
        taken(queues, 8)

    queues.heads(10.0)

    assert len(queues._queues) <= 2


def test_who_leaves_takes_all_its_rows_along_under_every_key() -> None:
    gone = ticket([1, 2, 3], keys=["a", "b", "a"])
    queues = joined(gone, ticket([4, 5], keys=["a", "b"]))

    queues.leave(gone)

    assert queues.rows == 2
    assert [taken(queues, 8), taken(queues, 8)] == [[4], [5]]


def test_who_left_without_a_word_is_passed_over() -> None:
    gone = ticket([1, 2])
    queues = joined(gone, ticket([3]))
    gone.left = True

    batch = taken(queues, 8)

    assert batch == [3]


def test_who_is_too_late_is_not_taken() -> None:
    late, other = ticket([1, 2]), ticket([3])
    late.deadline_at = 11.0
    queues = joined(late, other)

    batch = taken(queues, 8, now=11.0)

    assert batch == [3]
    assert queues.rows == 0


def test_the_batch_must_leave_by_the_earliest_deadline() -> None:
    one, two = ticket([1]), ticket([2])
    one.deadline_at, two.deadline_at = 15.0, 12.0
    (_, queue), *_ = joined(one, two).heads(10.0)

    assert queue.leave_by() == 12.0


def test_without_deadlines_a_batch_may_leave_when_it_likes() -> None:
    (_, queue), *_ = joined(ticket([1])).heads(10.0)

    assert queue.leave_by() == float("inf")


def test_to_empty_names_each_caller_once() -> None:
    one, two = ticket([1, 2], keys=["a", "b"]), ticket([3])
    queues = joined(one, two)

    assert queues.empty() == [one, two]
    assert queues.rows == 0


@pytest.mark.parametrize("now", [10.0, 99.0])
def test_nobody_waits_in_an_empty_room(now: float) -> None:
    assert Queues().heads(now) == []
