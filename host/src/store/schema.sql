-- Records are JSON in the dialect of the specification; columns are made from them where queries need them.
-- The ID by which this host knows its containers from those of others.
CREATE TABLE host (
    id TEXT NOT NULL
);
INSERT INTO host VALUES (lower(hex(randomblob(8))));

CREATE TABLE tenants (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- SHA-256 of each API key. `id` is shown by `host keys list`.
CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL REFERENCES tenants (id),
    digest BLOB NOT NULL UNIQUE,
    created TEXT NOT NULL
);

-- `record` has no values of secrets; `secrets` has them, encrypted. A deployment with `deleted` exists only for the
-- reconciler, until nothing of it is left.
CREATE TABLE deployments (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL,
    tags TEXT NOT NULL,
    secrets BLOB NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0,
    active TEXT AS (record ->> '$.active_revision_id'),
    tenant TEXT AS (record ->> '$.tenant_id'),
    name TEXT AS (record ->> '$.name'),
    status TEXT AS (record ->> '$.status'),
    image_version TEXT AS (record ->> '$.image_version'),
    type TEXT AS (record ->> '$.source_config.deployment_type'),
    listener TEXT AS (record ->> '$.source_config.listener_id'),
    agent TEXT AS (record ->> '$.agent.agent_id'),
    environment TEXT AS (record ->> '$.agent.environment')
);
CREATE UNIQUE INDEX deployments_by_name ON deployments (name) WHERE NOT deleted;
CREATE INDEX deployments_of_tenant ON deployments (tenant, number) WHERE NOT deleted;
-- Those that the reconciler has work with.
CREATE INDEX deployments_in_use ON deployments (number)
    WHERE deleted OR record ->> '$.latest_revision_id' IS NOT NULL;
CREATE UNIQUE INDEX deployments_of_agent ON deployments (tenant, agent, environment)
    WHERE agent IS NOT NULL AND NOT deleted;

-- `ordinal` counts the revisions of a deployment from 1. `secrets` are those that the revision runs with, and `grace` the
-- seconds that its server has to finish runs. `image` is its own name of its image, `kept` that of the revision that it
-- repeats, `attempts` the number of failed starts, and `error` the last reason. `pulled` is the name of the image on the
-- engine that this host pulled it by, until that is removed.
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    deployment TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    record TEXT NOT NULL,
    secrets BLOB NOT NULL,
    grace INTEGER NOT NULL,
    image TEXT,
    kept TEXT,
    pulled TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    status TEXT AS (record ->> '$.status'),
    UNIQUE (deployment, ordinal)
);
CREATE INDEX revisions_by_status ON revisions (status, deployment);

-- `kind` is 0 for builds and 1 for deployments.
CREATE TABLE logs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    revision INTEGER NOT NULL REFERENCES revisions (number) ON DELETE CASCADE,
    kind INTEGER NOT NULL,
    time INTEGER NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL
);
CREATE INDEX logs_of_revision ON logs (revision, kind, number);

-- The time in nanoseconds since 1970 of the last line of each container that is in the log of its revision.
CREATE TABLE outputs (
    revision INTEGER NOT NULL REFERENCES revisions (number) ON DELETE CASCADE,
    container TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (revision, container)
) WITHOUT ROWID;

-- Upload addresses, and whether there is an archive. `token` is a SHA-256, `made` in milliseconds since 1970.
CREATE TABLE uploads (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    deployment TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    token BLOB NOT NULL,
    made INTEGER NOT NULL,
    has_file INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX uploads_of_deployment ON uploads (deployment, number);

-- Credentials for pushes to the registry of this host, by SHA-256, and the time until which they are valid, in milliseconds
-- since 1970.
CREATE TABLE push_tokens (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    token BLOB NOT NULL UNIQUE,
    deployment TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    until INTEGER NOT NULL
);
CREATE INDEX push_tokens_of_deployment ON push_tokens (deployment, number);

-- Manifests of pushed images; their blobs are files. `kind` is the media type, `made` in milliseconds since 1970.
CREATE TABLE manifests (
    deployment TEXT NOT NULL REFERENCES deployments (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    kind TEXT NOT NULL,
    content BLOB NOT NULL,
    made INTEGER NOT NULL,
    PRIMARY KEY (deployment, digest)
);
CREATE TABLE tags (
    deployment TEXT NOT NULL,
    tag TEXT NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (deployment, tag),
    FOREIGN KEY (deployment, digest) REFERENCES manifests (deployment, digest) ON DELETE CASCADE
);
CREATE INDEX tags_of_manifest ON tags (deployment, digest);

-- Names of deliveries of webhooks, SHA-256, which are not processed again.
CREATE TABLE deliveries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    name BLOB NOT NULL UNIQUE
);
