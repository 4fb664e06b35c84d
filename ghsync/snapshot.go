package ghsync

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/internal/sanitize"
)

// Caps of a snapshot, in bytes but for the title, applied after cleaning.
const (
	maxTitleRunes    = 256
	maxBodyBytes     = 64 << 10
	maxCommentBytes  = 8 << 10
	maxSnapshotBytes = 128 << 10
	maxUsedComments  = 50
)

// SnapshotSpec says which text a session is to work from.
type SnapshotSpec struct {
	Repo   Repo
	Issue  int
	CutOff time.Time // nothing written or edited later is taken
	// Trigger is the trigger id; Requester is who asked.
	Trigger   string
	Requester Permission
	// Record is the reading the gate judged. Nil: TakeSnapshot reads.
	Record *Record
	// Submodules and LFSFiles are counted at the base by the caller.
	Submodules, LFSFiles int
}

// Snapshot is the text a session works from, cleaned, with a note of what was taken out.
// Its JSON is issue_snapshot.json.
type Snapshot struct {
	V         int               `json:"v"`
	Repo      string            `json:"repo"`
	RepoID    int64             `json:"repo_id"`
	Default   string            `json:"default_branch,omitempty"`
	Issue     int               `json:"issue"`
	URL       string            `json:"url"`
	Author    string            `json:"author"`
	Trigger   string            `json:"trigger"`
	Requester Requester         `json:"requester"`
	CutOff    time.Time         `json:"cut_off"`
	TakenAt   time.Time         `json:"taken_at"`
	Title     sanitize.Clean    `json:"title"`
	Body      sanitize.Clean    `json:"body"`
	Comments  []SnapshotComment `json:"comments"`
	Digest    string            `json:"digest"`
	Report    Report            `json:"report"`
	Raw       RawHashes         `json:"raw"`
	Base      BaseNote          `json:"base"`
}

// Requester is who asked for the session.
type Requester struct {
	Login string `json:"login"`
	ID    int64  `json:"id"`
	Level string `json:"level"`
}

// SnapshotComment is one comment that was taken.
type SnapshotComment struct {
	ID        int64          `json:"id"`
	Author    string         `json:"author"`
	CreatedAt time.Time      `json:"created_at"`
	Body      sanitize.Clean `json:"body"`
}

// RawHashes are SHA-256 of the texts as GitHub had them, to notice a later edit.
type RawHashes struct {
	Title    string            `json:"title"`
	Body     string            `json:"body"`
	Comments map[string]string `json:"comments"`
}

// BaseNote counts what agents do not see of the repository.
type BaseNote struct {
	Submodules int `json:"submodules"`
	LFS        int `json:"lfs"`
}

// String is the line for people, empty if agents see everything.
func (n BaseNote) String() string {
	if n.Submodules == 0 && n.LFS == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s: agents see none of their content",
		markdown.Count(n.Submodules, "submodule", "submodules"), markdown.Count(n.LFS, "LFS file", "LFS files"))
}

// Report says what cleaning and the caps took out, and which comments were left out.
type Report struct {
	V          int            `json:"v"`
	Removed    map[string]int `json:"removed"`
	CutBytes   int            `json:"cut_bytes"`
	Comments   CommentCounts  `json:"comments"`
	Suspicious bool           `json:"suspicious,omitempty"` // more invisible characters than by accident
	Refused    bool           `json:"refused,omitempty"`    // a text hid things too deeply and was left out as a whole
}

// CommentCounts says how many comments were used, and why the others were not: their
// author may not steer (bots and our own account among them), they came or were edited too
// late, they are commands, or there are newer ones enough.
type CommentCounts struct {
	Used    int `json:"used"`
	Author  int `json:"author"`
	Late    int `json:"late"`
	Command int `json:"command,omitempty"`
	Hidden  int `json:"hidden,omitempty"`
	Older   int `json:"older,omitempty"`
}

// TakeSnapshot reads an issue, unless spec brings the reading, and takes from it what a
// session may be told. Errors: those of Record.
func (c *Client) TakeSnapshot(ctx context.Context, spec SnapshotSpec) (Snapshot, error) {
	record := spec.Record
	if record == nil {
		r, err := c.Record(ctx, spec.Repo, spec.Issue)
		if err != nil {
			return Snapshot{}, err
		}
		record = &r
	}
	comments, counts, err := (&authors{c: c, repo: record.Repository.Repo}).eligible(ctx, spec.CutOff, record)
	if err != nil {
		return Snapshot{}, err
	}
	s := newSnapshot(spec, record, c.Now().UTC())
	s.Report.Comments = counts
	s.clean(record.Issue, comments)
	s.cap()
	s.Digest = s.digest()
	return s, nil
}

func newSnapshot(spec SnapshotSpec, r *Record, now time.Time) Snapshot {
	return Snapshot{
		V: 1, Repo: r.Repository.String(), RepoID: r.Repository.ID, Default: r.Repository.DefaultBranch, Issue: r.Issue.Number, URL: r.Issue.URL,
		Author: r.Issue.Author.Login, Trigger: spec.Trigger, CutOff: spec.CutOff.UTC(), TakenAt: now,
		Requester: Requester{Login: spec.Requester.Account.Login, ID: spec.Requester.Account.ID, Level: spec.Requester.Level.String()},
		Base:      BaseNote{Submodules: spec.Submodules, LFS: spec.LFSFiles},
		Comments:  []SnapshotComment{},
		Report:    Report{V: 1, Removed: map[string]int{}},
	}
}

// Ours reports whether the program wrote a comment: with its own account, and with a marker as
// the last line. What that account writes without a marker was written by a person.
func (c *Client) Ours(ctx context.Context, comment Comment) (bool, error) {
	if _, marked := ParseMarker(comment.Body); !marked {
		return false, nil
	}
	me, err := c.Viewer(ctx)
	if err != nil {
		return false, err
	}
	return me.ID == comment.Author.ID, nil
}

// IsCommand reports whether a comment is an order to the program: its first line that is
// not blank starts with /agentmux at the first column.
func IsCommand(body sanitize.Raw) bool {
	for line := range strings.Lines(string(body)) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		word, _, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		return word == "/agentmux"
	}
	return false
}

// clean fills in the texts and counts what is removed.
func (s *Snapshot) clean(issue Issue, comments []Comment) {
	s.Raw = RawHashes{Title: HashOf(string(issue.Title)), Body: HashOf(string(issue.Body)), Comments: map[string]string{}}
	s.Title = s.take(sanitize.Line(issue.Title)) // GitHub shows a title as it is, not as Markdown
	s.Body = s.take(sanitize.Sanitize(issue.Body))
	for _, c := range comments {
		s.Raw.Comments[fmt.Sprint(c.ID)] = HashOf(string(c.Body))
		s.Comments = append(s.Comments, SnapshotComment{ID: c.ID, Author: c.Author.Login, CreatedAt: c.CreatedAt, Body: s.take(sanitize.Sanitize(c.Body))})
	}
}

// take returns a cleaned text and counts what was removed from it.
func (s *Snapshot) take(clean sanitize.Clean, report sanitize.Report) sanitize.Clean {
	for class, n := range report.Removed {
		s.Report.Removed[class] += n
	}
	s.Report.Suspicious = s.Report.Suspicious || report.Suspicious
	s.Report.Refused = s.Report.Refused || report.Refused
	return clean.TrimSpace()
}

// cap shortens what is too long, each text for itself and then all together: the oldest
// comments go first.
func (s *Snapshot) cap() {
	if r := []rune(s.Title.String()); len(r) > maxTitleRunes { // as GitHub counts, which allows no more
		const notice = 20 // at most, in a title
		s.Title = s.cut(s.Title, len(string(r[:maxTitleRunes-notice]))+notice)
	}
	s.Body = s.cut(s.Body, maxBodyBytes)
	total := len(s.Title.String()) + len(s.Body.String())
	for i := range s.Comments {
		s.Comments[i].Body = s.cut(s.Comments[i].Body, maxCommentBytes)
		total += len(s.Comments[i].Body.String())
	}
	for len(s.Comments) > 0 && total > maxSnapshotBytes {
		size := len(s.Comments[0].Body.String())
		total -= size
		s.Report.CutBytes += size
		s.Comments = s.Comments[1:]
		s.Report.Comments.Used--
		s.Report.Comments.Older++
	}
}

// cut leaves at most n bytes, with a note of how many were cut.
func (s *Snapshot) cut(text sanitize.Clean, n int) sanitize.Clean {
	short, bytes := sanitize.Cut(text, n)
	s.Report.CutBytes += bytes
	return short
}

// digest names the cleaned text: SHA-256 of a fixed line and the parts as canonical JSON,
// which has sorted keys, no spaces, and escapes only what it must.
func (s *Snapshot) digest() string {
	type part struct {
		Author string `json:"author"`
		Body   string `json:"body"`
		ID     int64  `json:"id"`
	}
	parts := struct {
		Body     string `json:"body"`
		Comments []part `json:"comments"`
		Title    string `json:"title"`
	}{Body: s.Body.String(), Comments: []part{}, Title: s.Title.String()}
	for _, c := range s.Comments {
		parts.Comments = append(parts.Comments, part{Author: c.Author, Body: c.Body.String(), ID: c.ID})
	}
	var text strings.Builder
	text.WriteString("agentmux-snapshot/1\n")
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(parts); err != nil {
		panic("encode strings and numbers: " + err.Error())
	}
	return HashOf(strings.TrimSuffix(text.String(), "\n"))
}

// HashOf is the SHA-256 of a text in hex, as snapshots hold it.
func HashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Edited reports whether title or body of the issue are no longer those of the snapshot.
func (s *Snapshot) Edited(title, body sanitize.Raw) bool {
	return HashOf(string(title)) != s.Raw.Title || HashOf(string(body)) != s.Raw.Body
}

// Encode is the content of issue_snapshot.json.
func (s *Snapshot) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	return append(data, '\n'), nil
}

// ParseSnapshot reads issue_snapshot.json.
func ParseSnapshot(data []byte) (Snapshot, error) {
	var s Snapshot
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("parse snapshot: %w", err)
	}
	if s.V != 1 {
		return s, errors.New("parse snapshot: made by another version")
	}
	return s, nil
}
