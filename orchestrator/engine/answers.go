package engine

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// gatePredicates lists the file that answers a gate. Changes win: while there is such a file
// an approval is not looked at. A blank one says nothing; a broken one is moved out of the
// way when it is judged.
func (f *files) gatePredicates() []predicate {
	dir := f.completeDir()
	changes := predicate{what: orchestrator.ObserveChanges, path: path.Join(dir, session.ChangesFile), told: true, read: (*files).readChanges}
	if !f.blank(changes.path) {
		return []predicate{changes}
	}
	return []predicate{{what: orchestrator.ObserveApproval, path: path.Join(dir, session.ApprovalFile), told: true, read: (*files).readApproval}}
}

// blank reports whether rel is missing or holds nothing but white space.
func (f *files) blank(rel string) bool {
	info, err := os.Lstat(f.sess.Path(rel))
	switch {
	case err != nil:
		return true
	case !info.Mode().IsRegular() || info.Size() > 4<<10:
		return false
	}
	data, err := session.ReadFile(f.sess.Path(rel))
	return err == nil && len(bytes.TrimSpace(data)) == 0
}

// ofLine is the first line of a changes.md that names what it is about.
var ofLine = regexp.MustCompile(`^of: *([0-9A-Za-z]+)[ \t\r]*(?:\n|$)`)

func (f *files) readChanges(p predicate) (*orchestrator.Observation, error) {
	c, err := f.sess.CheckArtifact(p.path, duty.ArtifactText)
	if err != nil {
		return nil, err
	}
	o, err := f.answer(p, c.Artifact.SHA256)
	if err != nil || len(c.Artifact.Problems) > 0 {
		o.Problems = c.Artifact.Problems
		return o, err
	}
	text, of := c.Data, ""
	if head := ofLine.FindSubmatch(text); head != nil {
		of, text = string(head[1]), text[len(head[0]):]
	}
	if len(bytes.TrimSpace(text)) == 0 {
		o.Problems = []string{"it does not say what is to be changed"}
		return o, nil
	}
	o.Approval = &orchestrator.Approval{Text: string(text), Of: of}
	return o, nil
}

func (f *files) readApproval(p predicate) (*orchestrator.Observation, error) {
	c, err := f.sess.CheckArtifact(p.path, duty.ArtifactText)
	if err != nil {
		return nil, err
	}
	o, err := f.answer(p, c.Artifact.SHA256)
	if err != nil || len(c.Artifact.Problems) > 0 {
		o.Problems = c.Artifact.Problems
		return o, err
	}
	approval, problems := artifact.ParseApproval(c.Data)
	if o.Problems = problems.Errors().Lines(); approval == nil {
		return o, nil
	}
	o.Approval = &orchestrator.Approval{
		ExcludeFiles: slices.Clone(approval.ExcludeFiles), CommitMessage: approval.CommitMessage, By: approval.By, Of: approval.Of,
	}
	return o, nil
}

// answer is an observation of a file that answers the open gate. The same content written
// again is another answer.
func (f *files) answer(p predicate, sha256 string) (*orchestrator.Observation, error) {
	info, err := os.Lstat(f.sess.Path(p.path))
	if err != nil {
		return p.observation(""), err
	}
	return f.seen(p, info, sha256), nil
}

func (f *files) seen(p predicate, info fs.FileInfo, evidence string) *orchestrator.Observation {
	at := info.ModTime()
	o := p.observation(fmt.Sprintf("%d/%d/%d/%s", f.st.Visit, f.st.Gate.OpenedAt.UnixMilli(), at.UnixNano(), evidence))
	o.Written = orchestrator.At(at)
	o.Origin = fmt.Sprintf("%s, written at %s", path.Base(p.path), at.UTC().Format(time.RFC3339))
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		o.Origin += fmt.Sprintf(" by user id %d", stat.Uid)
	}
	return o
}

// unreadable tells that a file lies where an answer belongs, and why it is not an answer.
func (f *files) unreadable(p predicate, info fs.FileInfo, err error) *orchestrator.Observation {
	o := f.seen(p, info, info.Mode().String())
	o.Problems = []string{err.Error()}
	return o
}
