"""What people do on the stand-in GitHub, each as a named account: the door for tests and for the demo."""

from pathlib import Path

from service.demo.github.acts import comments, hooks, issues, pulls, reactions, repositories, reviews
from service.demo.github.git import ref_sha
from service.demo.github.records import (
    Account,
    Comment,
    Delivery,
    Hook,
    Issue,
    Permission,
    Reaction,
    Repository,
    Review,
    ReviewComment,
    Subject,
)
from service.demo.github.state import State, found
from service.demo.github.webhooks import Courier, new_guid

ALL_EVENTS = ("*",)


class People:
    """Acts of people. `repo` is `owner/name`; a missing account is made; raises `Failure` where GitHub refuses."""

    def __init__(self, state: State, courier: Courier) -> None:
        self.state = state
        self.courier = courier

    def add_account(self, login: str, token: str | None = None, kind: str = "User") -> Account:
        """Make an account (`kind`: User, Bot, Organization) or give one that is there another token."""
        with self.state.lock:
            return repositories.add_account(self.state, login, kind, token)

    def remove_account(self, login: str) -> None:
        """Delete an account; what it wrote has a null author from then on."""
        with self.state.lock:
            repositories.remove_account(self.state, login)

    def rename_account(self, login: str, new_login: str) -> Account:
        with self.state.lock:
            return repositories.rename_account(self.state, login, new_login)

    def revoke_token(self, token: str) -> None:
        """Let a token answer 401 from now on."""
        with self.state.lock:
            self.state.tables.tokens.pop(token, None)

    def add_repository(self, repo: str, default_branch: str = "main", private: bool = False) -> Repository:
        """Make a repository with a real bare git repository and a first commit."""
        with self.state.lock:
            return repositories.add_repository(self.state, repo, default_branch, private=private)

    def rename_repository(self, repo: str, new_name: str) -> Repository:
        with self.state.lock:
            return repositories.rename_repository(self.state, repo, new_name)

    def set_permission(self, repo: str, login: str, permission: Permission) -> None:
        with self.state.lock:
            self._actor(login)
            repositories.set_permission(self.state, repo, login, Permission(permission))

    def add_hook(
        self,
        repo: str,
        url: str,
        secret: str | None = None,
        events: tuple[str, ...] = ALL_EVENTS,
        content_type: str = "json",
        ping: bool = True,
    ) -> Hook:
        """Make a webhook, which is pinged unless told otherwise."""
        with self.state.lock:
            wanted = hooks.HookEdit(url=url, secret=secret, content_type=content_type, events=events)
            hook = hooks.add_hook(self.state, self.state.repository(repo), wanted)
            if ping:
                self.courier.ping(hook)
            return hook

    def set_hook_active(self, hook_id: int, active: bool) -> Hook:
        """Switch a hook on or off; what happens while it is off is never delivered."""
        with self.state.lock:
            return hooks.edit_hook(self.state, found(self.state.tables.hooks, hook_id), hooks.HookEdit(active=active))

    def open_issue(
        self, as_login: str, repo: str, title: str, body: str | None = None, labels: tuple[str, ...] = ()
    ) -> Issue:
        with self.state.lock:
            return issues.open_issue(
                self.state, self._actor(as_login), self.state.repository(repo), title, body, labels
            )

    def edit_issue(
        self, as_login: str, repo: str, number: int, title: str | None = None, body: str | None = None
    ) -> Issue:
        with self.state.lock:
            edit = issues.IssueEdit(title=title, body=body)
            return issues.edit_issue(self.state, *self._at(as_login, repo, number), edit)

    def close(self, as_login: str, repo: str, number: int) -> Issue:
        with self.state.lock:
            return issues.close(self.state, *self._at(as_login, repo, number))

    def reopen(self, as_login: str, repo: str, number: int) -> Issue:
        with self.state.lock:
            return issues.reopen(self.state, *self._at(as_login, repo, number))

    def label(self, as_login: str, repo: str, number: int, name: str) -> Issue:
        with self.state.lock:
            return issues.add_labels(self.state, *self._at(as_login, repo, number), (name,))

    def unlabel(self, as_login: str, repo: str, number: int, name: str) -> Issue:
        with self.state.lock:
            return issues.remove_label(self.state, *self._at(as_login, repo, number), name)

    def lock_thread(self, as_login: str, repo: str, number: int) -> Issue:
        with self.state.lock:
            return issues.set_locked(self.state, *self._at(as_login, repo, number), locked=True)

    def unlock_thread(self, as_login: str, repo: str, number: int) -> Issue:
        with self.state.lock:
            return issues.set_locked(self.state, *self._at(as_login, repo, number), locked=False)

    def delete_issue(self, as_login: str, repo: str, number: int) -> None:
        with self.state.lock:
            issues.delete_issue(self.state, *self._at(as_login, repo, number))

    def comment(self, as_login: str, repo: str, number: int, body: str) -> Comment:
        with self.state.lock:
            return comments.add_comment(self.state, *self._at(as_login, repo, number), body)

    def edit_comment(self, as_login: str, comment_id: int, body: str) -> Comment:
        with self.state.lock:
            comment = found(self.state.tables.comments, comment_id)
            repository = self.state.tables.repositories[comment.repository_id]
            return comments.edit_comment(self.state, self._actor(as_login), repository, comment, body)

    def delete_comment(self, as_login: str, comment_id: int) -> None:
        with self.state.lock:
            comment = found(self.state.tables.comments, comment_id)
            repository = self.state.tables.repositories[comment.repository_id]
            comments.delete_comment(self.state, self._actor(as_login), repository, comment)

    def open_pull(self, as_login: str, repo: str, title: str, branch: str, body: str | None = None) -> Issue:
        """Open a pull request of a branch of this repository, which is made with a commit where it is missing."""
        with self.state.lock:
            repository = self.state.repository(repo)
            if ref_sha(Path(repository.folder), f"refs/heads/{branch}") is None:
                owner = hooks.owner_of(self.state, repository)
                pulls.push(self.state, owner, repository, branch, f"{branch.replace('/', '-')}.txt", f"{title}\n")
            wanted = pulls.PullRequested(title=title, body=body, head=branch, base=repository.default_branch)
            return pulls.open_pull(self.state, self._actor(as_login), repository, wanted)

    def open_fork_pull(self, as_login: str, repo: str, title: str, body: str | None = None) -> Issue:
        """Open a pull request from a fork of the account's own."""
        with self.state.lock:
            return pulls.open_fork_pull(self.state, self._actor(as_login), self.state.repository(repo), title, body)

    def push(self, as_login: str, repo: str, branch: str, path: str, text: str) -> str:
        """Commit one file to a branch and return the sha; open pull requests of it follow."""
        with self.state.lock:
            return pulls.push(self.state, self._actor(as_login), self.state.repository(repo), branch, path, text)

    def notice_pushes(self, as_login: str, repo: str) -> None:
        """Look what others pushed with git itself, and tell hooks of the pull requests that moved."""
        with self.state.lock:
            pulls.notice_pushes(self.state, self._actor(as_login), self.state.repository(repo))

    def merge(self, as_login: str, repo: str, number: int) -> Issue:
        with self.state.lock:
            return pulls.merge_pull(self.state, *self._at(as_login, repo, number))

    def review(
        self,
        as_login: str,
        repo: str,
        number: int,
        body: str,
        event: str = "COMMENT",
        inline: tuple[reviews.Inline, ...] = (),
    ) -> Review:
        """Submit a review (`APPROVE`, `REQUEST_CHANGES`, `COMMENT`), with inline comments where some are given."""
        with self.state.lock:
            return reviews.submit_review(self.state, *self._at(as_login, repo, number), event, body, inline)

    def inline_comment(
        self, as_login: str, repo: str, number: int, body: str, path: str = "README.md", line: int = 1
    ) -> ReviewComment:
        with self.state.lock:
            place = reviews.Inline(path=path, line=line, body=body)
            return reviews.add_inline_comment(self.state, *self._at(as_login, repo, number), place)

    def delete_inline_comment(self, as_login: str, comment_id: int) -> None:
        with self.state.lock:
            comment = found(self.state.tables.review_comments, comment_id)
            repository = self.state.tables.repositories[comment.repository_id]
            reviews.delete_inline_comment(self.state, self._actor(as_login), repository, comment)

    def comments(self, repo: str, number: int) -> list[Comment]:
        """What stands on a thread, oldest first."""
        with self.state.lock:
            repository = self.state.repository(repo)
            return [
                comment
                for comment in self.state.tables.comments.values()
                if (comment.repository_id, comment.number) == (repository.id, number)
            ]

    def issue(self, repo: str, number: int) -> Issue:
        with self.state.lock:
            return self.state.issue(self.state.repository(repo), number)

    def reactions(self, comment_id: int, subject: Subject = Subject.COMMENT) -> list[Reaction]:
        """The reactions to a comment, oldest first."""
        with self.state.lock:
            return reactions.reactions_of(self.state, subject, comment_id)

    def deliveries(self, hook_id: int | None = None) -> list[Delivery]:
        """What was tried to be delivered, oldest first."""
        with self.state.lock:
            return [
                delivery for delivery in self.state.tables.deliveries.values() if hook_id in (None, delivery.hook_id)
            ]

    def redeliver(self, delivery_id: int) -> None:
        """Send a delivery again under its own GUID."""
        with self.state.lock:
            self.courier.redeliver(found(self.state.tables.deliveries, delivery_id))

    def deliver_as_new(self, delivery_id: int) -> None:
        """Send a delivery's payload again under another GUID, as two hooks would for one fact."""
        with self.state.lock:
            self.courier.redeliver(found(self.state.tables.deliveries, delivery_id), guid=new_guid())

    def _actor(self, login: str) -> Account:
        return repositories.add_account(self.state, login)

    def _at(self, login: str, repo: str, number: int) -> tuple[Account, Repository, Issue]:
        repository = self.state.repository(repo)
        return self._actor(login), repository, self.state.issue(repository, number)
