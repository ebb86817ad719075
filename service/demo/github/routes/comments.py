"""Comments on threads, per issue and for the whole repository."""

from service.demo.github.acts import comments as acts
from service.demo.github.listing import in_order, paged, since
from service.demo.github.records import Comment
from service.demo.github.routing import Call, route
from service.demo.github.shapes.comments import comment_shape
from service.demo.github.wire import Answer, comment_body_of


def visible_comments(call: Call) -> list[Comment]:
    """The repository's comments that listings show by now, narrowed by the query's `since`."""
    repository = call.repository()
    now = call.state.now()
    comments = [
        comment
        for comment in call.state.tables.comments.values()
        if comment.repository_id == repository.id and comment.visible_from <= now
    ]
    return since(call, comments)


def list_repository_comments(call: Call) -> Answer:
    return listed(call, in_order(call, visible_comments(call)))


def list_issue_comments(call: Call) -> Answer:
    """A thread's comments by ascending id, whatever the query says of a sort."""
    number = call.issue().number
    comments = [comment for comment in visible_comments(call) if comment.number == number]
    return listed(call, sorted(comments, key=lambda comment: comment.id))


def listed(call: Call, comments: list[Comment]) -> Answer:
    repository = call.repository()
    return paged(call, comments, lambda comment: comment_shape(call.state, repository, comment))


def get_comment(call: Call) -> Answer:
    return shown(call, call.comment())


def create_comment(call: Call) -> Answer:
    body = comment_body_of(call.content())
    comment = acts.add_comment(call.state, call.actor, call.repository(), call.issue(), body)
    return shown(call, comment, status=201)


def edit_comment(call: Call) -> Answer:
    body = comment_body_of(call.content())
    return shown(call, acts.edit_comment(call.state, call.actor, call.repository(), call.comment(), body))


def delete_comment(call: Call) -> Answer:
    acts.delete_comment(call.state, call.actor, call.repository(), call.comment())
    return Answer(status=204)


def shown(call: Call, comment: Comment, status: int = 200) -> Answer:
    return Answer(status=status, content=comment_shape(call.state, call.repository(), comment))


ISSUES = "/repos/{owner}/{name}/issues"
ROUTES = (
    route("GET", ISSUES + "/comments", list_repository_comments),
    route("GET", ISSUES + "/{number}/comments", list_issue_comments),
    route("POST", ISSUES + "/{number}/comments", create_comment),
    route("GET", ISSUES + "/comments/{comment_id}", get_comment),
    route("PATCH", ISSUES + "/comments/{comment_id}", edit_comment),
    route("DELETE", ISSUES + "/comments/{comment_id}", delete_comment),
)
