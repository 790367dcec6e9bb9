"""Provides the labels of the embedded sites after a release that rewords them; see `redesigned_pages`."""

from __future__ import annotations

import re

PHRASES = {
    "search": "Find", "go": "Continue", "go to article": "Read on", "save note": "Keep it", "new note": "Compose",
    "forums": "Communities", "comments": "Discussion", "submit": "Create post", "log out": "Leave",
    "sign out": "Log off", "manuals": "Guides", "scratchpad": "Notepad", "directions": "Route planner",
    "categories": "Topics", "issues": "Work items", "merge requests": "Code review", "projects": "Repositories",
    "members": "People", "labels": "Markers", "files": "Source", "commits": "History", "branches": "Lines of work",
    "milestones": "Releases", "settings": "Preferences", "alphabetically": "A–Z", "by category": "Grouped",
    "create submission": "Publish", "commit changes": "Record my change", "filter": "Refine", "apply": "Update list",
    "convert": "Work out", "calculate": "Equals", "clear history": "Forget everything", "star": "Favourite",
    "fork": "Make a copy", "fork project": "Copy it", "upload file": "Bring in a file", "new issue": "Report",
    "create issue": "Report it", "next": "Older", "previous": "Younger", "next page": "Onwards",
    "previous page": "Back", "cancel": "Never mind", "walking": "On foot", "cycling": "By bike", "orders": "Purchases",
    "account": "Me", "basket": "Cart", "add to basket": "Buy this", "password": "Secret", "passwords": "Secrets",
    "calculator": "Sums", "converter": "Units", "calendar": "Agenda", "top": "Best", "new": "Latest", "hot": "Rising",
    "most commented": "Busiest", "bans": "Blocked people", "users": "Accounts", "groups": "Teams",
    "follow": "Subscribe", "assign yourself": "I'll do it", "merge": "Accept", "invite": "Let in", "messages": "Inbox",
    "replies": "Answers", "main": "Primary", "project": "Sections",
    "what links here": "Backlinks", "contributors": "Authors",
    "from": "Origin", "to": "Destination", "by": "Mode", "show": "View", "send": "Deliver", "yes": "Helpful",
    "no": "Not helpful", "contents": "On this page", "title": "Headline", "body": "Copy", "text": "Copy",
    "forum": "Community", "label": "Marker", "url": "Web address", "explore": "Discover", "to-do list": "My queue",
    "new project": "Start a repository", "sort by": "Arranged", "due date": "Deadline", "assignee": "Owner",
}  # fmt: skip
"""Whole labels, by the old label in lower case."""

WORDS = {
    "delete": "erase", "edit": "modify", "save": "keep", "create": "start", "add": "append", "remove": "unlink",
    "search": "find", "send": "deliver", "update": "sync", "new": "another", "description": "desc.",
    "quantity": "qty", "message": "msg", "address": "addr.", "number": "no.", "telephone": "tel.", "phone": "tel.",
    "information": "info", "organisation": "org.", "email": "mail", "basket": "cart", "review": "rating",
    "title": "headline", "comment": "remark", "note": "memo", "post": "entry", "forum": "community",
    "project": "repository", "file": "document", "branch": "line", "subject": "topic", "recipient": "addressee",
    "milestone": "release", "reason": "why", "upload": "bring in", "change": "switch", "submit": "hand over",
    "username": "handle", "author": "written by", "reply": "answer", "order": "purchase",
    "product": "item", "products": "items", "price": "cost", "status": "state", "customer": "client",
    "first": "given", "last": "family", "country": "nation", "city": "town", "postcode": "zip", "members": "people",
}  # fmt: skip
"""Single words for labels that aren't in `PHRASES`, some of them abbreviated."""


def reworded(text: str, *, whole: bool = True) -> str:
    """Returns the label in the new release's words, with its surrounding space.

    If it isn't a ``whole`` label, only single words are replaced.
    """
    stripped = text.strip()
    if not stripped:
        return text
    new = (PHRASES.get(stripped.lower()) if whole else None) or re.sub(r"[A-Za-z]+", _word, stripped)
    return text.replace(stripped, new)


def _word(found: re.Match[str]) -> str:
    new = WORDS.get(found[0].lower())
    if new is None:
        return found[0]
    return new.capitalize() if found[0][0].isupper() else new
