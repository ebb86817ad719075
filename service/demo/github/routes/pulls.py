"""Pull requests."""

from service.demo.github.acts import issues as issue_acts
from service.demo.github.acts import pulls as acts
from service.demo.github.acts.hooks import owner_of
from service.demo.github.listing import in_order, paged
from service.demo.github.records import Issue
from service.demo.github.routing import Call, route
from service.demo.github.shapes.pulls import listed_pull_shape, pull_of, pull_shape
from service.demo.github.wire import Answer, optional_text_of, text_of


def follow_branches(call: Call) -> None:
    """What git was pushed since the last look shows now; the owner stands for whoever pushed."""
    repository = call.repository()
    acts.notice_pushes(call.state, owner_of(call.state, repository), repository)


def list_pulls(call: Call) -> Answer:
    """Pull requests by state, head (`owner:branch`) and base, newest first unless the query says otherwise."""
    follow_branches(call)
    repository = call.repository()
    pulls = [issue for issue in call.state.issues(repository) if issue.pull is not None and is_wanted(call, issue)]
    return paged(
        call,
        in_order(call, pulls, default_sort="created"),
        lambda issue: listed_pull_shape(call.state, repository, issue),
    )


def is_wanted(call: Call, issue: Issue) -> bool:
    query = call.request.query
    pull = pull_of(issue)
    head = f"{call.state.tables.accounts[pull.head_owner_id].login}:{pull.head_ref}"
    return (
        query.get("state", "open") in ("all", issue.state)
        and query.get("head", head) == head
        and query.get("base", pull.base_ref) == pull.base_ref
    )


def get_pull(call: Call) -> Answer:
    follow_branches(call)
    return shown(call, call.issue())


def create_pull(call: Call) -> Answer:
    content = call.content()
    wanted = acts.PullRequested(
        title=text_of(content, "title"),
        body=optional_text_of(content, "body"),
        head=text_of(content, "head"),
        base=text_of(content, "base"),
        draft=content.get("draft") is True,
    )
    return shown(call, acts.open_pull(call.state, call.actor, call.repository(), wanted), status=201)


def edit_pull(call: Call) -> Answer:
    content = call.content()
    issue = call.issue()
    pull_of(issue)
    edit = issue_acts.IssueEdit(
        title=optional_text_of(content, "title"),
        body=optional_text_of(content, "body"),
        state=optional_text_of(content, "state"),
    )
    return shown(call, issue_acts.edit_issue(call.state, call.actor, call.repository(), issue, edit))


def merge_pull(call: Call) -> Answer:
    merged = acts.merge_pull(call.state, call.actor, call.repository(), call.issue())
    sha = pull_of(merged).merge_commit_sha
    return Answer(status=200, content={"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


def shown(call: Call, issue: Issue, status: int = 200) -> Answer:
    return Answer(status=status, content=pull_shape(call.state, call.repository(), issue))


PULLS = "/repos/{owner}/{name}/pulls"
ROUTES = (
    route("GET", PULLS, list_pulls),
    route("POST", PULLS, create_pull),
    route("GET", PULLS + "/{number}", get_pull),
    route("PATCH", PULLS + "/{number}", edit_pull),
    route("PUT", PULLS + "/{number}/merge", merge_pull),
)
