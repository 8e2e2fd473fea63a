package library

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// layout is the version of the index's tables. It stands in the file's name,
// so that two versions of the program never share a file.
const layout = 1

const tables = `
CREATE TABLE IF NOT EXISTS docs (
	id INTEGER PRIMARY KEY,
	path TEXT NOT NULL UNIQUE,
	size INTEGER NOT NULL,
	mtime INTEGER NOT NULL,
	seen INTEGER NOT NULL,
	hash TEXT NOT NULL,
	fault TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS places (
	id INTEGER PRIMARY KEY,
	doc INTEGER NOT NULL,
	anchor TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS places_doc ON places (doc);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (title, heading, body, tokenize = 'porter unicode61 remove_diacritics 2');
`

// index is the full-text index of one library.
type index struct {
	db *sql.DB
}

// record is a document as the index keeps it.
type record struct {
	id    int64
	size  int64
	mtime int64
	seen  int64 // when it was read, nanoseconds since 1970
	hash  string
	fault string // why it could not be read, "" if it could
}

// place is a part of a document that is found as one.
type place struct {
	anchor  string
	title   string
	heading string
	body    string
}

// indexFile names the index of a folder.
func indexFile(cache, folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return filepath.Join(cache, fmt.Sprintf("library-%s-v%d.sqlite", hex.EncodeToString(sum[:8]), layout))
}

// openIndex opens or makes the index. A file that is damaged is made anew: it
// holds nothing that the documents do not.
func openIndex(ctx context.Context, file string) (*index, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the library's index: %w", err)
	}
	ix, err := tryIndex(ctx, file)
	if damaged(err) {
		removeIndex(file)
		ix, err = tryIndex(ctx, file)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the library's index %s: %w", file, err)
	}
	return ix, nil
}

func removeIndex(file string) {
	for _, end := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(file + end)
	}
}

func tryIndex(ctx context.Context, file string) (*index, error) {
	// Immediate transactions and a busy timeout let several processes write.
	dsn := "file:" + (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath() + "?" + url.Values{
		"_pragma": {"busy_timeout(30000)", "journal_mode(WAL)", "synchronous(NORMAL)"}, "_txlock": {"immediate"},
	}.Encode()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	ix := &index{db: db}
	if err := ix.prepare(ctx); err != nil {
		_ = db.Close()
		return nil, err
	}
	return ix, nil
}

func (ix *index) prepare(ctx context.Context) error {
	var n int
	err := ix.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE name IN ('docs', 'places', 'words')").Scan(&n)
	if err != nil || n == 3 {
		return err
	}
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, tables); err != nil {
		return err
	}
	return tx.Commit()
}

// damaged says that a file is no index, or a broken one.
func damaged(err error) bool {
	if err == nil {
		return false
	}
	s := err.Error()
	for _, sign := range []string{"malformed", "not a database", "SQLITE_CORRUPT", "SQLITE_NOTADB", "disk image"} {
		if strings.Contains(s, sign) {
			return true
		}
	}
	return false
}

func (ix *index) close() error { return ix.db.Close() }

// records gives all documents by path.
func (ix *index) records(ctx context.Context) (map[string]record, error) {
	rows, err := ix.db.QueryContext(ctx, "SELECT id, path, size, mtime, seen, hash, fault FROM docs")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	out := map[string]record{}
	for rows.Next() {
		var r record
		var p string
		if err := rows.Scan(&r.id, &p, &r.size, &r.mtime, &r.seen, &r.hash, &r.fault); err != nil {
			return nil, err
		}
		out[p] = r
	}
	return out, rows.Err()
}

// record gives one document; false if the index does not have it.
func (ix *index) record(ctx context.Context, path string) (record, bool, error) {
	var r record
	err := ix.db.QueryRowContext(ctx, "SELECT id, size, mtime, seen, hash, fault FROM docs WHERE path = ?", path).
		Scan(&r.id, &r.size, &r.mtime, &r.seen, &r.hash, &r.fault)
	if errors.Is(err, sql.ErrNoRows) {
		return record{}, false, nil
	}
	return r, err == nil, err
}

// change is what is to be done about one document.
type change struct {
	path   string
	rec    record
	places []place
	gone   bool
	same   bool // only the file's size and time are noted anew
}

// apply makes changes, in one transaction. It can be repeated.
func (ix *index) apply(ctx context.Context, changes []change) error {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, c := range changes {
		if err := applyOne(ctx, tx, c); err != nil {
			return fmt.Errorf("%s: %w", c.path, err)
		}
	}
	return tx.Commit()
}

func applyOne(ctx context.Context, tx *sql.Tx, c change) error {
	if c.same {
		_, err := tx.ExecContext(ctx, "UPDATE docs SET size = ?, mtime = ?, seen = ? WHERE path = ? AND hash = ?", c.rec.size, c.rec.mtime, c.rec.seen, c.path, c.rec.hash)
		return err
	}
	var id int64
	err := tx.QueryRowContext(ctx, "SELECT id FROM docs WHERE path = ?", c.path).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	default:
		for _, q := range []string{
			"DELETE FROM words WHERE rowid IN (SELECT id FROM places WHERE doc = ?)",
			"DELETE FROM places WHERE doc = ?",
			"DELETE FROM docs WHERE id = ?",
		} {
			if _, err := tx.ExecContext(ctx, q, id); err != nil {
				return err
			}
		}
	}
	if c.gone {
		return nil
	}
	res, err := tx.ExecContext(ctx, "INSERT INTO docs (path, size, mtime, seen, hash, fault) VALUES (?, ?, ?, ?, ?, ?)",
		c.path, c.rec.size, c.rec.mtime, c.rec.seen, c.rec.hash, c.rec.fault)
	if err != nil {
		return err
	}
	if id, err = res.LastInsertId(); err != nil {
		return err
	}
	for _, p := range c.places {
		res, err := tx.ExecContext(ctx, "INSERT INTO places (doc, anchor) VALUES (?, ?)", id, p.anchor)
		if err != nil {
			return err
		}
		row, err := res.LastInsertId()
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO words (rowid, title, heading, body) VALUES (?, ?, ?, ?)",
			row, spread(p.title), spread(p.heading), spread(p.body)); err != nil {
			return err
		}
	}
	return nil
}

// found is a row that matches an expression.
type found struct {
	row     int64
	path    string
	anchor  string
	title   string
	heading string
	snippet string
	score   float64
}

// match gives the best rows for an expression of the index's language.
func (ix *index) match(ctx context.Context, expression string, limit int) ([]found, error) {
	rows, err := ix.db.QueryContext(ctx, `
		SELECT words.rowid, docs.path, places.anchor, words.title, words.heading,
			snippet(words, 2, '', '', ' … ', 40), -bm25(words, 4.0, 3.0, 1.0) AS score
		FROM words JOIN places ON places.id = words.rowid JOIN docs ON docs.id = places.doc
		WHERE words MATCH ? ORDER BY score DESC, docs.path, words.rowid LIMIT ?`, expression, limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []found
	for rows.Next() {
		var f found
		if err := rows.Scan(&f.row, &f.path, &f.anchor, &f.title, &f.heading, &f.snippet, &f.score); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, rows.Err()
}
