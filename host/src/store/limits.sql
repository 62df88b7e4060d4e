-- Quotas that differ from the usual ones.
CREATE TABLE quotas (
    tenant TEXT NOT NULL REFERENCES tenants (id),
    name TEXT NOT NULL,
    most INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

-- Size of the archive in bytes. Those of older versions are measured when the service starts.
ALTER TABLE uploads ADD COLUMN size INTEGER NOT NULL DEFAULT 0;

-- Number and bytes of the entries of each log.
CREATE TABLE log_sizes (
    revision INTEGER NOT NULL REFERENCES revisions (number) ON DELETE CASCADE,
    kind INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (revision, kind)
) WITHOUT ROWID;
INSERT INTO log_sizes
    SELECT revision, kind, count(*), sum(octet_length(message)) FROM logs GROUP BY revision, kind;
CREATE TRIGGER log_entry_added AFTER INSERT ON logs BEGIN
    INSERT INTO log_sizes VALUES (new.revision, new.kind, 1, octet_length(new.message))
    ON CONFLICT DO UPDATE SET entries = entries + 1, bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER log_entry_removed AFTER DELETE ON logs BEGIN
    UPDATE log_sizes SET entries = entries - 1, bytes = bytes - octet_length(old.message)
    WHERE revision = old.revision AND kind = old.kind;
END;

-- The highest time of a line of a container: that of the last one is lower after the clock was set back.
ALTER TABLE outputs ADD COLUMN highest INTEGER NOT NULL DEFAULT 0;
UPDATE outputs SET highest = time;

-- Sums the replicas of a tenant without reading the records: the expression is that of the query.
CREATE INDEX deployments_replicas ON deployments (tenant, min(100, max(1, coalesce(
    record ->> '$.source_config.resource_spec.max_scale',
    record ->> '$.source_config.resource_spec.min_scale', 1
)))) WHERE NOT deleted;
