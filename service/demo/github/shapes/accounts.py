"""Accounts as GitHub's JSON."""

import base64

from service.demo.github.records import Account
from service.demo.github.state import State
from service.demo.github.wire import JsonObject

USER_LINKS = {
    "followers_url": "followers",
    "following_url": "following{/other_user}",
    "gists_url": "gists{/gist_id}",
    "starred_url": "starred{/owner}{/repo}",
    "subscriptions_url": "subscriptions",
    "organizations_url": "orgs",
    "repos_url": "repos",
    "events_url": "events{/privacy}",
    "received_events_url": "received_events",
}


def node_id(kind: str, record_id: int) -> str:
    """GitHub's other, opaque id of a record."""
    return base64.b64encode(f"{kind}:{record_id}".encode()).decode()


def account_shape(state: State, account: Account) -> JsonObject:
    """An account as it stands in everything that it wrote."""
    url = f"{state.base_url}/users/{account.login}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": node_id("User", account.id),
        "avatar_url": f"{state.base_url}/avatars/u/{account.id}?v=4",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{state.base_url}/{account.login}",
        **{name: f"{url}/{rest}" for name, rest in USER_LINKS.items()},
        "type": account.kind,
        "site_admin": False,
    }


def author_shape(state: State, account_id: int | None) -> JsonObject | None:
    """An author, or None for one whose account is gone."""
    account = state.account_by_id(account_id)
    return account_shape(state, account) if account is not None else None
