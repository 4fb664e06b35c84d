package material

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/prompt"
)

// IssueSnapshot is the issue text the session works from, or the agent whose files they are;
// fs.ErrNotExist without an issue.
func (r *Files) IssueSnapshot() (ghsync.Snapshot, error) {
	return r.SnapshotOf(r.issue)
}

// SnapshotOf is the issue text of an agent, kept as blob; that of the session if blob is empty. One
// that was changed since is an error.
func (r *Files) SnapshotOf(blob string) (ghsync.Snapshot, error) {
	var snap ghsync.Snapshot
	read := func() ([]byte, error) { return session.ReadFile(r.sess.Path(session.SnapshotFile)) }
	if blob != "" {
		read = func() ([]byte, error) { return r.sess.Blob(blob) }
	}
	data, err := read()
	if err == nil {
		err = json.Unmarshal(data, &snap)
	}
	if err != nil {
		return ghsync.Snapshot{}, fmt.Errorf("read issue snapshot: %w", err)
	}
	return snap, nil
}

// Request returns the initial request, as requirements.md has it.
func (r *Files) Request() string {
	data, err := r.ReadText(session.RequirementsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.log.Warn("requirements not readable", "session", r.sess.Name(), "err", err)
	}
	_, rest, found := strings.Cut(string(data), "## Initial Request")
	if !found {
		return strings.TrimSpace(string(data))
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return strings.TrimSpace(rest)
}

// FirstRequestLine is the first line of the request that says something.
func (r *Files) FirstRequestLine() string {
	for line := range strings.Lines(r.Request()) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "# ")); line != "" {
			return line
		}
	}
	return "changes of " + r.sess.Name()
}

// IssueTask is the text of the issue that an agent works for, as SnapshotOf returns it, for its prompt.
func (r *Files) IssueTask(blob string) (string, error) {
	snap, err := r.SnapshotOf(blob)
	if err != nil {
		return "", err
	}
	return IssueText(&snap), nil
}

// IssueText is the text of an issue for the agents, as data between boundaries.
func IssueText(s *ghsync.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Issue %s#%d, opened by %s.\n\n", s.Repo, s.Issue, s.Author)
	text := "# " + s.Title.String() + "\n\n" + s.Body.String()
	b.WriteString(prompt.Fence(fmt.Sprintf("the text of the issue by %s", s.Author), text))
	for _, c := range s.Comments {
		b.WriteString("\n")
		b.WriteString(prompt.Fence(fmt.Sprintf("a comment by %s of %s", c.Author, c.CreatedAt.UTC().Format("2006-01-02 15:04")), c.Body.String()))
	}
	return b.String()
}

// Keep returns the files that a new session keeps of snapshots, by path, and their blobs by the name
// of the agent. The one under "" is the session's own.
func Keep(snapshots map[string]*ghsync.Snapshot) (files map[string][]byte, blobs map[string]string, err error) {
	files, blobs = map[string][]byte{}, map[string]string{}
	for name, snap := range snapshots {
		data, err := json.MarshalIndent(snap, "", "  ")
		if err != nil {
			return nil, nil, fmt.Errorf("encode issue snapshot: %w", err)
		}
		if name == "" {
			files[session.SnapshotFile] = data
			continue
		}
		sum := sha256.Sum256(data)
		blobs[name] = hex.EncodeToString(sum[:])
		files[path.Join(session.BlobsDir, blobs[name])] = data
	}
	return files, blobs, nil
}
