package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
)

// version of the manifests that are written. A later one is refused.
const version = 1

const (
	// SessionDir and WorkDir are the two directories of a checkpoint.
	SessionDir = "session"
	WorkDir    = "work"
	// MaxSize bounds what a checkpoint holds besides the integrated commits.
	MaxSize = 50 << 20
)

// Manifest says what a checkpoint is of and what it holds.
type Manifest struct {
	V       int       `json:"v"`
	Session string    `json:"session"` // the name it has on the server
	Repo    string    `json:"repo"`    // owner/name; empty without a server
	Issue   int       `json:"issue"`
	Issues  []int     `json:"issues,omitempty"` // that agents of an agents file work for
	Host    string    `json:"host"`
	At      time.Time `json:"at"`
	Record  int       `json:"record"` // the last one that it has
	Base    string    `json:"base"`   // the commit that the session started from
	// Files are the SHA-256 of the files below session/, by path.
	Files   map[string]string `json:"files"`
	Work    map[string]Work   `json:"work"` // by workspace
	LeftOut []string          `json:"left_out,omitempty"`
}

// Work is what a workspace held.
type Work struct {
	Base string `json:"base"` // the commit it was made at
	// Changed are the SHA-256 of the files that differ from it; empty for one that was removed.
	Changed map[string]string `json:"changed"`
}

// ErrNewer says that a newer agentmux made a checkpoint.
var ErrNewer = errors.New("it was made by a newer agentmux")

// ManifestOf reads the manifest of a commit of the store.
func ManifestOf(ctx context.Context, store *gitrepo.Store, commit string) (Manifest, error) {
	text, err := store.Message(ctx, commit)
	if err != nil {
		return Manifest{}, err
	}
	return ParseMessage(text)
}

// Left says why files are not in a checkpoint, by their path in it.
type Left map[string]string

// maxNamed is how many of them are named.
const maxNamed = 20

// Names lists them, each with its reason.
func (l Left) Names() []string {
	var names []string
	for _, file := range slices.Sorted(maps.Keys(l)) {
		names = append(names, fmt.Sprintf("%s: %s", file, l[file]))
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return names
}

// Digest is the SHA-256 of a file as a manifest has it.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Message is the message of the commit of a checkpoint: a line for people, then the manifest.
func (m Manifest) Message() (string, error) {
	m.V = version
	var b strings.Builder
	fmt.Fprintf(&b, "checkpoint of %s\n\n", m.Session)
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(m)
	return b.String(), err
}

// ParseMessage reads the manifest from the message of a commit.
func ParseMessage(text string) (Manifest, error) {
	var m Manifest
	_, data, found := strings.Cut(text, "\n\n")
	if !found {
		return m, errors.New("it has no manifest")
	}
	// The version comes first: a later one may have other types.
	var head struct{ V int }
	if err := json.Unmarshal([]byte(data), &head); err != nil {
		return m, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	if head.V > version {
		return m, fmt.Errorf("version %d: %w", head.V, ErrNewer)
	}
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		return m, fmt.Errorf("its manifest cannot be read: %w", err)
	}
	if m.V != version {
		return m, fmt.Errorf("its manifest has the version %d", m.V)
	}
	return m, nil
}
