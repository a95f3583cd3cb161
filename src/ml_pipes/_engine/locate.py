"""The note that says where an exception came from: the step, and which item of which regions.

An exception's own words, type and identity stay; one note grows on its way out.
Knows exceptions and labels. Knows nothing of plans.
"""

from __future__ import annotations

__all__ = ["note_item", "note_step"]

_PLACES = "_ml_pipes_places"
_START = "in step "
# An exception object that is kept and raised in ever other places must not grow for ever.
_MOST_PLACES = 16


def note_step(error: BaseException, label: str, *, leaf: bool) -> None:
    """The error leaves this step; ``leaf`` when the step runs no steps of ours.

    A leaf begins the note anew, so that one exception object raised again and
    again does not grow.
    """
    places: tuple[str, ...] = error.__dict__.get(_PLACES, ())
    if not places or (leaf and places[0] == label):
        places = (label,)
    elif places[-1].startswith("item ") and " of " not in places[-1]:
        places = (*places[:-1], f"{places[-1]} of {label}")
    elif places[-1] != label:
        places = (*places, f"in {label}")
    _write(error, places)


def note_item(error: BaseException, item: int) -> None:
    """The error leaves the run of a region's body for the item at this index."""
    places: tuple[str, ...] = error.__dict__.get(_PLACES, ())
    _write(error, (*places, f"item {item}"))


def _write(error: BaseException, places: tuple[str, ...]) -> None:
    # By the dict: an exception class may refuse attributes (a frozen dataclass does).
    state = error.__dict__
    notes = state.get("__notes__", [])
    if not isinstance(notes, list):
        return  # somebody keeps something else there: theirs
    state[_PLACES] = places = places[:1] + places[1:][-_MOST_PLACES:]
    ours = _START + ", ".join(places)
    kept = [note for note in notes if not (isinstance(note, str) and note.startswith(_START))]
    state["__notes__"] = [*kept, ours]
