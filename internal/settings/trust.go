package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"towpath/internal/durable"
)

// TrustState is what the user has said about a workspace's files.
type TrustState string

// The states of trust.
const (
	TrustNothing TrustState = "nothing" // there is nothing that would need it
	TrustNever   TrustState = "never"   // the user has not said yes
	TrustChanged TrustState = "changed" // the user said yes to other content than this
	Trusted      TrustState = "trusted"
)

// Subject is what a user trusts: the files of one workspace that hold settings
// or commands, by their content.
type Subject struct {
	Dir   string        // the workspace's absolute path
	Files []SubjectFile // sorted by path
	Hash  string        // over all of it; "" where there are no files
}

// SubjectFile is one file of a Subject.
type SubjectFile struct {
	Path string `json:"path"` // absolute
	Hash string `json:"hash"` // SHA-256 of its bytes
}

func newSubject(dir string, files []SubjectFile) Subject {
	slices.SortFunc(files, func(a, b SubjectFile) int { return strings.Compare(a.Path, b.Path) })
	files = slices.Compact(files)
	s := Subject{Dir: dir, Files: files}
	if len(files) == 0 {
		return s
	}
	var all strings.Builder
	fmt.Fprintf(&all, "%q\n", dir)
	for _, f := range files {
		fmt.Fprintf(&all, "%q %s\n", f.Path, f.Hash)
	}
	s.Hash = durable.Hash([]byte(all.String()))
	return s
}

// TrustStore is the user's folder of what they trust, one file a workspace.
type TrustStore struct{ dir string }

// OpenTrust gives the store in the user's state folder, which need not exist.
func OpenTrust(stateDir string) *TrustStore {
	return &TrustStore{dir: filepath.Join(stateDir, "trust")}
}

type trustEntry struct {
	Dir   string        `json:"dir"`
	Hash  string        `json:"hash"`
	Files []SubjectFile `json:"files"`
	Time  time.Time     `json:"time"`
}

func (t *TrustStore) file(dir string) string {
	return durable.Hash([]byte(dir)) + ".json"
}

// State says what the user has said about exactly this content.
func (t *TrustStore) State(s Subject) (TrustState, error) {
	if s.Hash == "" {
		return TrustNothing, nil
	}
	path := filepath.Join(t.dir, t.file(s.Dir))
	data, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return TrustNever, nil
	}
	if err != nil {
		return TrustNever, fmt.Errorf("reading what is trusted: %w", err)
	}
	var e trustEntry
	if err := json.Unmarshal(data, &e); err != nil {
		return TrustNever, fmt.Errorf("reading what is trusted: %s is damaged (%v); remove it and run towpath trust again", path, err)
	}
	if e.Dir == s.Dir && e.Hash == s.Hash {
		return Trusted, nil
	}
	return TrustChanged, nil
}

// Trust notes that the user said yes to this content. What was shown to the
// user is what has to be passed here.
func (t *TrustStore) Trust(s Subject, now time.Time) error {
	if s.Hash == "" {
		return errors.New("there is nothing to trust: the workspace has no settings and no commands")
	}
	data, err := json.MarshalIndent(trustEntry{Dir: s.Dir, Hash: s.Hash, Files: s.Files, Time: now.UTC()}, "", "  ")
	if err != nil {
		return fmt.Errorf("noting what is trusted: %w", err)
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return fmt.Errorf("noting what is trusted: %w", durable.Explain("make", t.dir, err))
	}
	tree, err := durable.OpenDir(t.dir)
	if err != nil {
		return fmt.Errorf("noting what is trusted: %w", err)
	}
	defer tree.Close()
	if err := tree.WriteFile(t.file(s.Dir), append(data, '\n')); err != nil {
		return fmt.Errorf("noting what is trusted: %w", err)
	}
	return nil
}

// Revoke takes back what the user said about the workspace at dir (absolute).
func (t *TrustStore) Revoke(dir string) error {
	err := os.Remove(filepath.Join(t.dir, t.file(dir)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("taking trust back: %w", err)
	}
	return nil
}

// Trust notes that the user said yes to s.Subject, which has to have been shown
// to them. Load gives the settings that are in force afterwards.
func (s *Settings) Trust(now time.Time) error {
	if s.trusts == nil {
		return errors.New("what is trusted cannot be kept: the user's folder is not known; set HOME or XDG_STATE_HOME")
	}
	return s.trusts.Trust(s.Subject, now)
}

// Revoke takes trust in the workspace back.
func (s *Settings) Revoke() error {
	if s.trusts == nil {
		return nil
	}
	return s.trusts.Revoke(s.Subject.Dir)
}

// findTrust makes the subject from the bytes that were parsed, so that nothing
// can change between the look and the trust.
func (s *Settings) findTrust(opt Options, project []byte) error {
	s.TrustState = TrustNothing
	if opt.Workspace == "" {
		return nil
	}
	dir, err := realPath(s.env.abs(opt.Workspace))
	if err != nil {
		return fmt.Errorf("finding the workspace: %w", err)
	}
	var files []SubjectFile
	if s.Project != "" {
		files = append(files, SubjectFile{Path: s.Project, Hash: durable.Hash(project)})
	}
	for _, c := range opt.Commands {
		path := c
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		data, err := readSmall(path)
		if err != nil {
			return fmt.Errorf("reading a file that holds commands: %w", err)
		}
		files = append(files, SubjectFile{Path: path, Hash: durable.Hash(data)})
	}
	s.Subject = newSubject(dir, files)
	state := s.env.stateDir()
	if state == "" {
		if s.Subject.Hash != "" {
			s.TrustState = TrustNever
		}
		return nil
	}
	s.trusts = OpenTrust(state)
	s.TrustState, err = s.trusts.State(s.Subject)
	if err != nil {
		s.Warnings = append(s.Warnings, err.Error())
	}
	return nil
}
