package session

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// ReadArtifact reads a file of an agent once, as the host does before it accepts
// it: the bytes are on disk, kept in blobs/ and checked by kind. What is wrong
// with the file is in Problems; the error is this machine's.
func (s *Session) ReadArtifact(rel, kind string) (*orchestrator.Artifact, error) {
	c, err := s.CheckArtifact(rel, kind)
	if err != nil {
		return nil, err
	}
	if len(c.Artifact.Problems) > 0 {
		return c.Artifact, nil
	}
	err = s.disk.Sync(s.Path(rel))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = s.putBlob(c.Artifact.SHA256, c.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", rel, err)
	}
	return c.Artifact, nil
}

// Checked is an artifact with what a host does not need to keep.
type Checked struct {
	Artifact *orchestrator.Artifact
	Warnings []string // accepted all the same
	Data     []byte   // nil if the file could not be read as text
}

// CheckArtifact is ReadArtifact for those who only want to know: nothing is
// written.
func (s *Session) CheckArtifact(rel, kind string) (Checked, error) {
	c := Checked{Artifact: &orchestrator.Artifact{Path: rel}}
	data, err := durable.ReadRegular(s.Dir, rel, durable.MaxArtifact)
	var bad *durable.ArtifactError
	if errors.As(err, &bad) {
		c.Artifact.Problems = []string{bad.Error()}
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Data, c.Artifact.SHA256 = data, hash(data)
	if durable.Blank(data) {
		c.Artifact.Problems = []string{rel + " is empty"}
		return c, nil
	}
	c.parse(kind)
	return c, nil
}

// Stable tells over several looks whether files of agents have stopped
// changing. It belongs to one goroutine.
type Stable struct {
	s     *Session
	looks map[string]durable.Look
}

// NewStable returns a Stable that has looked at nothing.
func (s *Session) NewStable() *Stable { return &Stable{s: s, looks: map[string]durable.Look{}} }

// Look reports whether the file rel looks as it did at least a second ago and was
// written at or after from; the zero time allows any. A missing file is not stable.
func (st *Stable) Look(rel string, now, from time.Time) (bool, error) {
	look, err := durable.LookAt(st.s.Dir, rel, now)
	if err != nil {
		delete(st.looks, rel)
		var bad *durable.ArtifactError
		if errors.As(err, &bad) {
			return false, nil
		}
		return false, err
	}
	first, ok := st.looks[rel]
	if !ok || !look.Same(first) {
		st.looks[rel] = look
		return false, nil
	}
	return look.StableSince(first, from), nil
}

// Settling reports whether the file rel was seen changing so lately that waiting
// a moment will tell.
func (st *Stable) Settling(rel string, now time.Time) bool {
	first, ok := st.looks[rel]
	return ok && now.Sub(first.At) < 2*time.Second
}

// Blob returns the content kept under a hash.
func (s *Session) Blob(sha256 string) ([]byte, error) {
	if !isHex(sha256, 64) {
		return nil, fmt.Errorf("read blob: %q is not a hash", sha256)
	}
	const limit = 64 << 20
	data, err := readOwn(s.Path(BlobsDir, sha256), limit)
	if err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	if hash(data) != sha256 {
		return nil, fmt.Errorf("read blob: %s holds other content", sha256)
	}
	return data, nil
}

// PutBlob keeps content and returns its hash. It is safe to call twice.
func (s *Session) PutBlob(content []byte) (string, error) {
	name := hash(content)
	return name, s.putBlob(name, content)
}

func (s *Session) putBlob(name string, content []byte) error {
	if hash(content) != name {
		return fmt.Errorf("keep blob: %s is not the hash of its content", name)
	}
	err := s.disk.Create(s.Path(BlobsDir, name), content)
	if errors.Is(err, fs.ErrNotExist) { // a session of an earlier tool has no such directory
		if err := s.disk.MkdirAll(s.Path(BlobsDir)); err != nil {
			return fmt.Errorf("keep blob: %w", err)
		}
		err = s.disk.Create(s.Path(BlobsDir, name), content)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep blob: %w", err)
	}
	return nil
}

// parse fills in what the kind of artifact asks for.
func (c *Checked) parse(kind string) {
	switch kind {
	case duty.ArtifactPlan:
		plan, problems := artifact.ParsePlan(c.Data)
		c.Artifact.Plan, c.Artifact.Problems, c.Warnings = plan, problems.Errors().Lines(), problems.Warnings().Lines()
	case duty.ArtifactReview:
		review, problems := artifact.ParseReview(c.Data)
		c.Artifact.Review, c.Artifact.Problems, c.Warnings = review, problems.Errors().Lines(), problems.Warnings().Lines()
	}
}
