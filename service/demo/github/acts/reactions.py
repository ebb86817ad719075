"""Reacting to issues, comments and inline comments."""

from service.demo.github.failures import Failure
from service.demo.github.records import Account, Reaction, Subject
from service.demo.github.state import State

CONTENTS = frozenset({"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"})


def add_reaction(
    state: State, actor: Account, subject: Subject, subject_id: int, content: str
) -> tuple[Reaction, bool]:
    """The actor's reaction, and whether it is new: the same reaction twice is one."""
    if content not in CONTENTS:
        raise Failure(422, "Validation Failed: content is no reaction")
    for reaction in reactions_of(state, subject, subject_id):
        if reaction.author_id == actor.id and reaction.content == content:
            return reaction, False
    reaction = Reaction(
        id=state.new_id("reaction"),
        subject=subject,
        subject_id=subject_id,
        author_id=actor.id,
        content=content,
        created_at=state.now(),
    )
    state.tables.reactions[reaction.id] = reaction
    return reaction, True


def reactions_of(state: State, subject: Subject, subject_id: int) -> list[Reaction]:
    """The reactions to one subject, oldest first."""
    return [
        reaction
        for reaction in state.tables.reactions.values()
        if reaction.subject is subject and reaction.subject_id == subject_id
    ]


def remove_reaction(state: State, actor: Account, subject: Subject, subject_id: int, reaction_id: int) -> None:
    """Take a reaction of one's own back; 404 when it is not there, 403 when it is another's."""
    for reaction in reactions_of(state, subject, subject_id):
        if reaction.id == reaction_id:
            if reaction.author_id != actor.id:
                raise Failure(403, "Must be the author of the reaction")
            del state.tables.reactions[reaction_id]
            return
    raise Failure(404, "Not Found")
