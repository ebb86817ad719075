"""Reactions to issues, comments and inline comments; reviews have none over REST."""

from collections.abc import Callable

from service.demo.github.acts.reactions import add_reaction, reactions_of, remove_reaction
from service.demo.github.listing import paged
from service.demo.github.records import Subject
from service.demo.github.routing import Call, Route, route
from service.demo.github.shapes.comments import reaction_shape
from service.demo.github.wire import Answer, text_of

REPOSITORY = "/repos/{owner}/{name}"


def issue_id(call: Call) -> int:
    return call.issue().id


def comment_id(call: Call) -> int:
    return call.comment().id


def review_comment_id(call: Call) -> int:
    return call.review_comment().id


def routes_of(subject: Subject, template: str, subject_id: Callable[[Call], int]) -> tuple[Route, ...]:
    """The three routes of one kind of subject."""

    def create(call: Call) -> Answer:
        """201 for a new reaction, 200 for one that was there."""
        content = text_of(call.content(), "content")
        reaction, is_new = add_reaction(call.state, call.actor, subject, subject_id(call), content)
        return Answer(status=201 if is_new else 200, content=reaction_shape(call.state, reaction))

    def list_all(call: Call) -> Answer:
        content = call.request.query.get("content")
        reactions = [
            reaction
            for reaction in reactions_of(call.state, subject, subject_id(call))
            if content in (None, reaction.content)
        ]
        return paged(call, reactions, lambda reaction: reaction_shape(call.state, reaction))

    def remove(call: Call) -> Answer:
        remove_reaction(call.state, call.actor, subject, subject_id(call), call.number("reaction_id"))
        return Answer(status=204)

    return (
        route("POST", f"{template}/reactions", create),
        route("GET", f"{template}/reactions", list_all),
        route("DELETE", f"{template}/reactions/{{reaction_id}}", remove),
    )


ROUTES = (
    *routes_of(Subject.ISSUE, f"{REPOSITORY}/issues/{{number}}", issue_id),
    *routes_of(Subject.COMMENT, f"{REPOSITORY}/issues/comments/{{comment_id}}", comment_id),
    *routes_of(Subject.REVIEW_COMMENT, f"{REPOSITORY}/pulls/comments/{{comment_id}}", review_comment_id),
)
