"""Opens pull requests and finds those that are open."""

from __future__ import annotations

from domain.ports import InDoubt, NoAnswer, NotSent, Refused, Repository
from githubapi import conditional, failures
from githubapi.door import GitHub
from githubapi.failures import CallFailed
from githubapi.fields import Fields, Malformed


class GitHubPulls:
    """The pull port of one host."""

    def __init__(self, github: GitHub) -> None:
        self._github = github

    def open_pull(
        self, repository: Repository, head: str, base: str, title: str, body: str
    ) -> int | NotSent | Refused | InDoubt:
        """Open a pull request from one branch of the repository to another."""
        content = {"title": title, "head": head, "base": base, "body": body}
        try:
            answer = self._github.write("POST", f"/repositories/{repository.id}/pulls", content)
            return Fields(answer.content if isinstance(answer.content, dict) else {}).id("number")
        except CallFailed as problem:
            return problem.failure
        except Malformed:
            return InDoubt("unreadable-answer")

    def find_pull(self, repository: Repository, head: str) -> int | NoAnswer | None:
        """The open pull request from a branch; the newest, where several bases have one."""
        owner = repository.name.partition("/")[0]
        wanted = {"state": "open", "head": f"{owner}:{head}"}
        try:
            fetched = conditional.full_list(self._github, f"/repositories/{repository.id}/pulls", wanted)
            pulls = [Fields(values) for values in fetched.objects]
            # GitHub ignores a head that it cannot make sense of and lists everything.
            numbers = [pull.id("number") for pull in pulls if _comes_from(pull, repository, head)]
        except CallFailed as problem:
            return failures.no_answer(problem.failure)
        except Malformed:
            return NoAnswer("unreadable-answer")
        if not numbers and not fetched.complete:
            return NoAnswer("incomplete-listing")
        return max(numbers, default=None)


def _comes_from(pull: Fields, repository: Repository, head: str) -> bool:
    end = pull.part("head")
    source = end.optional_part("repo")
    return end.text("ref") == head and source is not None and source.id("id") == repository.id
