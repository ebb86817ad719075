"""Issues and their labels."""

from service.demo.github.acts import issues as acts
from service.demo.github.failures import Failure
from service.demo.github.listing import in_order, paged, since
from service.demo.github.records import Issue
from service.demo.github.routing import Call, route
from service.demo.github.shapes.issues import issue_shape, label_shape
from service.demo.github.wire import Answer, JsonObject, optional_text_of, read_names, text_of, texts_of

STATES = frozenset({"open", "closed", "all"})


def list_issues(call: Call) -> Answer:
    """Issues and pull requests, newest first unless the query says otherwise."""
    repository = call.repository()
    wanted = call.request.query.get("state", "open")
    if wanted not in STATES:
        raise Failure(422, "Validation Failed: state")
    labels = {name.lower() for name in call.request.query.get("labels", "").split(",") if name}
    issues = [
        issue
        for issue in call.state.issues(repository)
        if wanted in ("all", issue.state) and labels <= {name.lower() for name in issue.labels}
    ]
    chosen = in_order(call, since(call, issues), default_sort="created")
    return paged(call, chosen, lambda issue: issue_shape(call.state, repository, issue))


def get_issue(call: Call) -> Answer:
    return shown(call, call.issue())


def create_issue(call: Call) -> Answer:
    content = call.content()
    issue = acts.open_issue(
        call.state,
        call.actor,
        call.repository(),
        text_of(content, "title"),
        optional_text_of(content, "body"),
        texts_of(content, "labels"),
    )
    return shown(call, issue, status=201)


def edit_issue(call: Call) -> Answer:
    content = call.content()
    edit = acts.IssueEdit(
        title=optional_text_of(content, "title"),
        body=optional_text_of(content, "body"),
        state=optional_text_of(content, "state"),
        state_reason=optional_text_of(content, "state_reason"),
        labels=texts_of(content, "labels") if "labels" in content else None,
    )
    return shown(call, acts.edit_issue(call.state, call.actor, call.repository(), call.issue(), edit))


def shown(call: Call, issue: Issue, status: int = 200) -> Answer:
    return Answer(status=status, content=issue_shape(call.state, call.repository(), issue))


def list_labels(call: Call) -> Answer:
    return paged(call, call.issue().labels, lambda name: label_of(call, name))


def add_labels(call: Call) -> Answer:
    names = read_names(call.request.body, "labels")
    return labels_of(call, acts.add_labels(call.state, call.actor, call.repository(), call.issue(), names))


def set_labels(call: Call) -> Answer:
    names = read_names(call.request.body, "labels")
    return labels_of(call, acts.set_labels(call.state, call.actor, call.repository(), call.issue(), names))


def remove_label(call: Call) -> Answer:
    name = call.parameters["label"]
    return labels_of(call, acts.remove_label(call.state, call.actor, call.repository(), call.issue(), name))


def labels_of(call: Call, issue: Issue) -> Answer:
    return Answer(status=200, content=[label_of(call, name) for name in issue.labels])


def label_of(call: Call, name: str) -> JsonObject:
    return label_shape(call.state, call.repository(), name)


ISSUES = "/repos/{owner}/{name}/issues"
ROUTES = (
    route("GET", ISSUES, list_issues),
    route("POST", ISSUES, create_issue),
    route("GET", ISSUES + "/{number}", get_issue),
    route("PATCH", ISSUES + "/{number}", edit_issue),
    route("GET", ISSUES + "/{number}/labels", list_labels),
    route("POST", ISSUES + "/{number}/labels", add_labels),
    route("PUT", ISSUES + "/{number}/labels", set_labels),
    route("DELETE", ISSUES + "/{number}/labels/{label}", remove_label),
)
