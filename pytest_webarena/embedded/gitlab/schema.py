"""The tables of the code hosting: people and projects, git's objects and references, issues and merge requests."""

from __future__ import annotations

from pytest_webarena.embedded.world import CANARY

__all__ = ["SCHEMA"]

SCHEMA = f"""
CREATE TABLE users (  -- {CANARY}
    id INTEGER PRIMARY KEY,
    username TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    password TEXT NOT NULL,
    bio TEXT NOT NULL DEFAULT '',
    location TEXT NOT NULL DEFAULT '',
    job_title TEXT NOT NULL DEFAULT '',
    pronouns TEXT NOT NULL DEFAULT '',
    website TEXT NOT NULL DEFAULT '',
    status_emoji TEXT NOT NULL DEFAULT '',
    status_message TEXT NOT NULL DEFAULT '',
    status_busy INTEGER NOT NULL DEFAULT 0,
    feed_token TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL
);
CREATE TABLE follows (
    follower_id INTEGER NOT NULL REFERENCES users,
    followed_id INTEGER NOT NULL REFERENCES users,
    PRIMARY KEY (follower_id, followed_id)
);
CREATE TABLE tokens (
    id INTEGER PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users,
    name TEXT NOT NULL,
    token TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,  -- divided by blanks: api read_api read_repository write_repository
    created TEXT NOT NULL,
    expires TEXT NOT NULL DEFAULT '',  -- a date; '' is never
    revoked INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE namespaces (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE COLLATE NOCASE,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,  -- user or group
    description TEXT NOT NULL DEFAULT '',
    visibility TEXT NOT NULL DEFAULT 'public',
    user_id INTEGER REFERENCES users,  -- whose it is, if it is a person's
    created TEXT NOT NULL
);
CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    namespace_id INTEGER NOT NULL REFERENCES namespaces,
    path TEXT NOT NULL COLLATE NOCASE,
    full_path TEXT NOT NULL UNIQUE COLLATE NOCASE,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    visibility TEXT NOT NULL,  -- public, internal (all who are signed in) or private (members)
    topics TEXT NOT NULL DEFAULT '',  -- divided by commas
    default_branch TEXT NOT NULL DEFAULT 'main',
    forked_from INTEGER REFERENCES projects ON DELETE SET NULL,
    archived INTEGER NOT NULL DEFAULT 0,
    creator_id INTEGER NOT NULL REFERENCES users,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    UNIQUE (namespace_id, path)
);
CREATE TABLE members (  -- of a group (namespace) or of a project
    id INTEGER PRIMARY KEY,
    namespace_id INTEGER REFERENCES namespaces ON DELETE CASCADE,
    project_id INTEGER REFERENCES projects ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users,
    role TEXT NOT NULL,  -- guest, reporter, developer, maintainer, owner
    created TEXT NOT NULL,
    expires TEXT NOT NULL DEFAULT '',
    UNIQUE (namespace_id, user_id),
    UNIQUE (project_id, user_id)
);
CREATE TABLE stars (
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users,
    PRIMARY KEY (project_id, user_id)
);
CREATE TABLE objects (  -- git's, of all projects: names are hashes
    sha TEXT PRIMARY KEY,
    kind TEXT NOT NULL,  -- blob, tree, commit, tag
    data BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE refs (
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    name TEXT NOT NULL,  -- refs/heads/main, refs/tags/v1.0
    sha TEXT NOT NULL,
    PRIMARY KEY (project_id, name)
) WITHOUT ROWID;
CREATE TABLE commits (  -- what the commits among the objects say
    number INTEGER PRIMARY KEY,  -- parents before children
    sha TEXT NOT NULL UNIQUE,
    tree TEXT NOT NULL,
    author TEXT NOT NULL,
    author_email TEXT NOT NULL,
    authored TEXT NOT NULL,
    committer TEXT NOT NULL,
    committer_email TEXT NOT NULL,
    committed TEXT NOT NULL,
    message TEXT NOT NULL
);
CREATE TABLE parents (
    sha TEXT NOT NULL,
    position INTEGER NOT NULL,
    parent TEXT NOT NULL,
    PRIMARY KEY (sha, position)
) WITHOUT ROWID;
CREATE TABLE changes (  -- the files that differ from every parent
    sha TEXT NOT NULL,
    path TEXT NOT NULL,
    before TEXT,  -- blob in the first parent; NULL: new
    after TEXT,  -- NULL: deleted
    PRIMARY KEY (sha, path)
) WITHOUT ROWID;
CREATE TABLE files (  -- what stands at the tip of each branch
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    branch TEXT NOT NULL,
    path TEXT NOT NULL,
    blob TEXT NOT NULL,
    PRIMARY KEY (project_id, branch, path)
) WITHOUT ROWID;
CREATE VIEW texts AS
    SELECT projects.full_path AS project, files.branch, files.path, CAST(objects.data AS TEXT) AS text
    FROM files JOIN projects ON projects.id = files.project_id JOIN objects ON objects.sha = files.blob;
CREATE TABLE labels (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    title TEXT NOT NULL,
    color TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    UNIQUE (project_id, title)
);
CREATE TABLE milestones (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    iid INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    start_date TEXT NOT NULL DEFAULT '',
    due_date TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT 'active',  -- or closed
    UNIQUE (project_id, iid)
);
CREATE TABLE issues (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    iid INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    author_id INTEGER NOT NULL REFERENCES users,
    state TEXT NOT NULL DEFAULT 'opened',  -- or closed
    milestone_id INTEGER REFERENCES milestones ON DELETE SET NULL,
    due_date TEXT NOT NULL DEFAULT '',
    confidential INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    closed TEXT NOT NULL DEFAULT '',
    closed_by_id INTEGER REFERENCES users,
    UNIQUE (project_id, iid)
);
CREATE TABLE merge_requests (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,  -- where it is merged
    iid INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    author_id INTEGER NOT NULL REFERENCES users,
    state TEXT NOT NULL DEFAULT 'opened',  -- closed, merged
    milestone_id INTEGER REFERENCES milestones ON DELETE SET NULL,
    source_project_id INTEGER REFERENCES projects ON DELETE SET NULL,
    source_branch TEXT NOT NULL,
    target_branch TEXT NOT NULL,
    base_sha TEXT NOT NULL DEFAULT '',  -- as it was when it was merged or closed
    head_sha TEXT NOT NULL DEFAULT '',
    merge_sha TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    updated TEXT NOT NULL,
    merged TEXT NOT NULL DEFAULT '',
    merged_by_id INTEGER REFERENCES users,
    closed TEXT NOT NULL DEFAULT '',
    closed_by_id INTEGER REFERENCES users,
    UNIQUE (project_id, iid)
);
CREATE TABLE labelled (  -- item is issue or merge_request
    item TEXT NOT NULL,
    item_id INTEGER NOT NULL,
    label_id INTEGER NOT NULL REFERENCES labels ON DELETE CASCADE,
    PRIMARY KEY (item, item_id, label_id)
) WITHOUT ROWID;
CREATE TABLE assigned (
    item TEXT NOT NULL,
    item_id INTEGER NOT NULL,
    user_id INTEGER NOT NULL REFERENCES users,
    PRIMARY KEY (item, item_id, user_id)
) WITHOUT ROWID;
CREATE TABLE reviewers (
    merge_request_id INTEGER NOT NULL REFERENCES merge_requests ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users,
    PRIMARY KEY (merge_request_id, user_id)
) WITHOUT ROWID;
CREATE TABLE approvals (
    merge_request_id INTEGER NOT NULL REFERENCES merge_requests ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users,
    created TEXT NOT NULL,
    PRIMARY KEY (merge_request_id, user_id)
) WITHOUT ROWID;
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    item TEXT NOT NULL,  -- issue or merge_request
    item_id INTEGER NOT NULL,
    author_id INTEGER NOT NULL REFERENCES users,
    text TEXT NOT NULL,
    system INTEGER NOT NULL DEFAULT 0,  -- what was done, told by the site
    path TEXT NOT NULL DEFAULT '',  -- of a remark on a line of a diff
    line INTEGER,  -- in the new file
    created TEXT NOT NULL,
    updated TEXT NOT NULL
);
CREATE INDEX notes_by_item ON notes (item, item_id);
CREATE TABLE todos (
    id INTEGER PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES users,
    author_id INTEGER NOT NULL REFERENCES users,
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    action TEXT NOT NULL,  -- assigned, mentioned, review_requested, marked
    item TEXT NOT NULL,
    item_id INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',  -- or done
    created TEXT NOT NULL
);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users,
    action TEXT NOT NULL,  -- pushed to, opened, closed, merged, commented on, created, joined …
    target TEXT NOT NULL DEFAULT '',  -- main, #4, !2
    title TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL
);
CREATE INDEX events_by_project ON events (project_id);
CREATE INDEX events_by_user ON events (user_id);
"""
