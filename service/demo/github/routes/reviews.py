"""Reviews of pull requests and their inline comments."""

from service.demo.github.acts import reviews as acts
from service.demo.github.failures import Failure
from service.demo.github.listing import in_order, paged, since
from service.demo.github.records import Review, ReviewComment
from service.demo.github.routing import Call, route
from service.demo.github.shapes.comments import review_comment_shape, review_shape
from service.demo.github.state import found
from service.demo.github.wire import Answer, JsonObject, comment_body_of, number_of, optional_text_of, text_of


def list_reviews(call: Call) -> Answer:
    """A pull request's reviews, oldest first; there is no listing for the whole repository."""
    repository = call.repository()
    number = call.issue().number
    reviews = [
        review
        for review in call.state.tables.reviews.values()
        if (review.repository_id, review.number) == (repository.id, number)
    ]
    return paged(call, reviews, lambda review: review_shape(call.state, repository, review))


def get_review(call: Call) -> Answer:
    return shown(call, the_review(call))


def the_review(call: Call) -> Review:
    review = found(call.state.tables.reviews, call.number("review_id"))
    call.require_here(review.repository_id)
    if review.number != call.number("number"):
        raise Failure(404, "Not Found")
    return review


def create_review(call: Call) -> Answer:
    content = call.content()
    review = acts.submit_review(
        call.state,
        call.actor,
        call.repository(),
        call.issue(),
        optional_text_of(content, "event") or "COMMENT",
        optional_text_of(content, "body") or "",
        inline_of(content),
    )
    return shown(call, review)


def inline_of(content: JsonObject) -> tuple[acts.Inline, ...]:
    """The inline comments that a review is submitted with."""
    comments = content.get("comments") or []
    if not isinstance(comments, list) or not all(isinstance(item, dict) for item in comments):
        raise Failure(422, "Validation Failed: comments is no list")
    return tuple(place_of(item) for item in comments)


def place_of(content: JsonObject) -> acts.Inline:
    """Where an inline comment stands; a `position` counts as its line."""
    line = "line" if "line" in content else "position"
    return acts.Inline(path=text_of(content, "path"), line=number_of(content, line), body=comment_body_of(content))


def shown(call: Call, review: Review) -> Answer:
    return Answer(status=200, content=review_shape(call.state, call.repository(), review))


def list_comments_of_review(call: Call) -> Answer:
    review = the_review(call)
    return listed(call, [comment for comment in visible(call) if comment.review_id == review.id])


def visible(call: Call) -> list[ReviewComment]:
    """The repository's inline comments that listings show by now."""
    repository = call.repository()
    now = call.state.now()
    return [
        comment
        for comment in call.state.tables.review_comments.values()
        if comment.repository_id == repository.id and comment.visible_from <= now
    ]


def list_repository_comments(call: Call) -> Answer:
    return listed(call, in_order(call, since(call, visible(call))))


def list_pull_comments(call: Call) -> Answer:
    number = call.issue().number
    comments = [comment for comment in visible(call) if comment.number == number]
    return listed(call, in_order(call, since(call, comments)))


def listed(call: Call, comments: list[ReviewComment]) -> Answer:
    repository = call.repository()
    return paged(call, comments, lambda comment: review_comment_shape(call.state, repository, comment))


def get_comment(call: Call) -> Answer:
    return comment_shown(call, call.review_comment())


def create_comment(call: Call) -> Answer:
    place = place_of(call.content())
    comment = acts.add_inline_comment(call.state, call.actor, call.repository(), call.issue(), place)
    return comment_shown(call, comment, status=201)


def reply_to_comment(call: Call) -> Answer:
    """An answer under an inline comment, at the same place."""
    parent = call.review_comment()
    place = acts.Inline(
        path=parent.path, line=parent.line, body=comment_body_of(call.content()), in_reply_to_id=parent.id
    )
    comment = acts.add_inline_comment(call.state, call.actor, call.repository(), call.issue(), place)
    return comment_shown(call, comment, status=201)


def edit_comment(call: Call) -> Answer:
    body = comment_body_of(call.content())
    comment = acts.edit_inline_comment(call.state, call.actor, call.repository(), call.review_comment(), body)
    return comment_shown(call, comment)


def delete_comment(call: Call) -> Answer:
    acts.delete_inline_comment(call.state, call.actor, call.repository(), call.review_comment())
    return Answer(status=204)


def comment_shown(call: Call, comment: ReviewComment, status: int = 200) -> Answer:
    return Answer(status=status, content=review_comment_shape(call.state, call.repository(), comment))


PULLS = "/repos/{owner}/{name}/pulls"
ROUTES = (
    route("GET", PULLS + "/{number}/reviews", list_reviews),
    route("POST", PULLS + "/{number}/reviews", create_review),
    route("GET", PULLS + "/{number}/reviews/{review_id}", get_review),
    route("GET", PULLS + "/{number}/reviews/{review_id}/comments", list_comments_of_review),
    route("GET", PULLS + "/comments", list_repository_comments),
    route("GET", PULLS + "/{number}/comments", list_pull_comments),
    route("POST", PULLS + "/{number}/comments", create_comment),
    route("POST", PULLS + "/{number}/comments/{comment_id}/replies", reply_to_comment),
    route("GET", PULLS + "/comments/{comment_id}", get_comment),
    route("PATCH", PULLS + "/comments/{comment_id}", edit_comment),
    route("DELETE", PULLS + "/comments/{comment_id}", delete_comment),
)
