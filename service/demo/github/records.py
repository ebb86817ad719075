"""What the stand-in GitHub knows: one frozen record for each account, repository, issue, comment, review and hook."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Permission(StrEnum):
    """What a collaborator may do in a repository, in GitHub's words."""

    ADMIN = "admin"
    MAINTAIN = "maintain"
    WRITE = "write"
    TRIAGE = "triage"
    READ = "read"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user, bot or organization; `kind` is GitHub's `type`."""

    id: int
    login: str
    kind: str = "User"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository; `folder` is its bare git repository, `permissions` goes from account id to permission."""

    id: int
    owner_id: int
    name: str
    folder: str
    default_branch: str
    private: bool
    created_at: datetime
    permissions: dict[int, Permission] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """What makes an issue a pull request; the head of a fork has another owner than the repository."""

    id: int
    head_ref: str
    head_sha: str
    head_owner_id: int
    base_ref: str
    base_sha: str
    fork: bool
    draft: bool = False
    merged_at: datetime | None = None
    merge_commit_sha: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue or, with `pull`, a pull request; `author_id` is None when the author's account is gone."""

    id: int
    repository_id: int
    number: int
    title: str
    body: str | None
    author_id: int | None
    created_at: datetime
    updated_at: datetime
    state: str = "open"
    state_reason: str | None = None
    labels: tuple[str, ...] = ()
    locked: bool = False
    deleted: bool = False
    closed_at: datetime | None = None
    closed_by_id: int | None = None
    pull: Pull | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment on an issue's or pull request's thread; listings show it from `visible_from` on."""

    id: int
    repository_id: int
    number: int
    author_id: int | None
    body: str
    created_at: datetime
    updated_at: datetime
    visible_from: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A submitted review; `state` is in REST's spelling (`APPROVED`, `CHANGES_REQUESTED`, `COMMENTED`)."""

    id: int
    repository_id: int
    number: int
    author_id: int | None
    body: str
    state: str
    commit_id: str
    submitted_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewComment:
    """An inline comment of a review, at a line of a file; listings show it from `visible_from` on."""

    id: int
    repository_id: int
    number: int
    review_id: int
    author_id: int | None
    path: str
    line: int
    commit_id: str
    body: str
    created_at: datetime
    updated_at: datetime
    visible_from: datetime
    in_reply_to_id: int | None = None


class Subject(StrEnum):
    """What can carry a reaction over REST; reviews cannot."""

    ISSUE = "issue"
    COMMENT = "comment"
    REVIEW_COMMENT = "review_comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """One account's reaction (`eyes`, `rocket`, …) to one subject."""

    id: int
    subject: Subject
    subject_id: int
    author_id: int
    content: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A repository's webhook; `content_type` is `json` or `form`, an `events` of `*` means all."""

    id: int
    repository_id: int
    url: str
    secret: str | None
    content_type: str
    events: tuple[str, ...]
    active: bool
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One try to deliver a payload to a hook; `status_code` is 0 and `status` says why when no answer came."""

    id: int
    hook_id: int
    guid: str
    event: str
    action: str | None
    repository_id: int
    url: str
    payload: str
    request_headers: dict[str, str]
    redelivery: bool
    delivered_at: datetime
    duration_s: float
    status: str
    status_code: int
    response_body: str
