-- Times are milliseconds since the Unix epoch (UTC), durations are seconds.

CREATE TABLE migrations (
    version    INTEGER PRIMARY KEY,
    applied_ms INTEGER NOT NULL
) STRICT;

-- Contents by hash. `content` is NULL when the bytes are in a file under blobs/.
CREATE TABLE blobs (
    sha256  TEXT PRIMARY KEY,
    size    INTEGER NOT NULL,
    content BLOB
) STRICT, WITHOUT ROWID;

CREATE TABLE notebooks (
    id     INTEGER PRIMARY KEY,
    path   TEXT NOT NULL,
    sha256 TEXT NOT NULL,                 -- of the file's bytes
    UNIQUE (path, sha256)
) STRICT;

CREATE TABLE environments (
    id        INTEGER PRIMARY KEY,
    lock_hash TEXT NOT NULL UNIQUE,
    python    TEXT NOT NULL,
    packages  TEXT NOT NULL               -- JSON object: distribution -> version
) STRICT;

CREATE TABLE runs (
    id            TEXT PRIMARY KEY,       -- UTC time and random digits: sorts by start
    kind          TEXT NOT NULL CHECK (kind IN ('run', 'modernize')),
    notebook      INTEGER NOT NULL REFERENCES notebooks (id),
    environment   INTEGER REFERENCES environments (id),
    options       TEXT NOT NULL,          -- JSON
    options_hash  TEXT NOT NULL,
    started_ms    INTEGER NOT NULL,
    finished_ms   INTEGER,
    host          TEXT NOT NULL,          -- host name and process namespace
    pid           INTEGER NOT NULL,
    process_start TEXT NOT NULL,          -- tells a process from a later one with its number
    state         TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted')),
    verdict       TEXT,
    report        TEXT,                   -- JSON
    log           TEXT REFERENCES blobs (sha256)
) STRICT;
CREATE INDEX runs_by_notebook ON runs (notebook, options_hash);

CREATE TABLE attempts (
    id           INTEGER PRIMARY KEY,
    run          TEXT NOT NULL REFERENCES runs (id),
    parent       INTEGER REFERENCES attempts (id),
    number       INTEGER NOT NULL,        -- from 1 within the run
    failing_cell INTEGER,                 -- among all cells, from 0
    ename        TEXT NOT NULL,
    message      TEXT NOT NULL,           -- normalised
    proposal     TEXT NOT NULL,
    outcome      TEXT NOT NULL,
    seconds      REAL NOT NULL,
    UNIQUE (run, number)
) STRICT;

CREATE TABLE edits (
    id         INTEGER PRIMARY KEY,
    run        TEXT NOT NULL REFERENCES runs (id),
    attempt    INTEGER REFERENCES attempts (id),
    cell       INTEGER,                   -- among all cells, from 0; NULL for a file or the environment
    path       TEXT,                      -- helper module beside the notebook
    source     TEXT NOT NULL,
    rule       TEXT,
    before     TEXT NOT NULL,
    after      TEXT NOT NULL,
    evidence   TEXT,
    safety     TEXT,
    first_line INTEGER,                   -- from 1
    last_line  INTEGER,
    active     INTEGER NOT NULL CHECK (active IN (0, 1))
) STRICT;
CREATE INDEX edits_by_run ON edits (run);
CREATE INDEX edits_by_attempt ON edits (attempt);

CREATE TABLE cells (
    id              INTEGER PRIMARY KEY,
    run             TEXT NOT NULL REFERENCES runs (id),
    phase           TEXT NOT NULL CHECK (phase IN ('live', 'proof')),
    cell            INTEGER NOT NULL,     -- among all cells, from 0
    started_ms      INTEGER NOT NULL,
    finished_ms     INTEGER NOT NULL,
    seconds         REAL NOT NULL,
    status          TEXT NOT NULL,
    outputs         TEXT REFERENCES blobs (sha256),
    execution_count INTEGER
) STRICT;
CREATE INDEX cells_by_run ON cells (run, cell);
