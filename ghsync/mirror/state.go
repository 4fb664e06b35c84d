package mirror

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// mirrorState is mirror_state.json: what the mirror did, so that a second start does
// nothing twice. Comments and intents are keyed by ghsync.Marker.Key.
type mirrorState struct {
	Version         int               `json:"version"`
	Repo            string            `json:"repo"`
	RepoID          int64             `json:"repo_id"`
	Issue           int               `json:"issue"`
	Host            string            `json:"host,omitempty"` // the last one that knew of all comments
	AppliedSeq      int               `json:"applied_seq"`    // every comment up to here is written
	ShownSeq        int               `json:"shown_seq"`      // comments, status, labels and verdict are
	StatusCommentID int64             `json:"status_comment_id"`
	StatusDigest    string            `json:"status_digest"`
	AuthorID        int64             `json:"author_id"`
	Comments        map[string]int64  `json:"comments"`
	Intents         map[string]intent `json:"intents"`
	Strays          []stray           `json:"strays,omitempty"`
	// StatusOn is where the status comment is: the issue, or the pull request of a locked one.
	StatusOn int `json:"status_on,omitempty"`
	// Label is the state label last set, without its prefix; labelNone after all were removed,
	// empty before the first.
	Label       string     `json:"label"`
	LabelUnsure bool       `json:"label_unsure,omitempty"` // a change of it was begun: the issue may have two
	Locked      bool       `json:"locked,omitempty"`       // the issue takes no comments
	LockedPR    int        `json:"locked_pr,omitempty"`    // nor on this pull request
	Absent      *absence   `json:"absent,omitempty"`       // nil: repository and issue are there
	TextEdited  *time.Time `json:"text_edited,omitempty"`  // since when the issue's text is known to differ
	Ambiguous   int        `json:"ambiguous"`              // creations of unknown fate since the last look for twins
	LastError   *string    `json:"last_error"`
	Away        *away      `json:"away,omitempty"` // nil: the server answers
	// Closed are the comments of questions and gates that say what became of them.
	Closed       map[string]bool `json:"closed,omitempty"`
	PR           *mirroredPR     `json:"pr,omitempty"`
	CommitStatus *commitStatus   `json:"commit_status,omitempty"`
}

// away is since when the server has not taken the writes of the mirror.
type away struct {
	Since time.Time `json:"since"`
	Tries int       `json:"tries"`
}

type mirroredPR struct {
	Number int    `json:"number"`
	Head   string `json:"head"`
}

type commitStatus struct {
	SHA   string             `json:"sha"`
	State ghsync.CommitState `json:"state"`
}

// intent is a comment about to be made. It is in the file before the request leaves.
type intent struct {
	On     int       `json:"on"`
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
	Looks  int       `json:"looks,omitempty"` // times it was looked for since
}

func newMirrorState() *mirrorState {
	return &mirrorState{Version: 1, Comments: map[string]int64{}, Intents: map[string]intent{}}
}

// Shown reports whether the mirrors of a session have shown all of it up to record seq, or never can:
// the issue is gone.
func Shown(dir string, seq int) bool {
	all := mirrorStates(dir)
	return len(all) > 0 && !slices.ContainsFunc(all, func(s *mirrorState) bool {
		return s.ShownSeq < seq && (s.Absent == nil || !s.Absent.Sure)
	})
}

// Trouble is why a mirror gave up showing a part of the session, in one line; "" if it did
// not. The next host tries again.
func Trouble(dir string) string {
	for _, s := range mirrorStates(dir) {
		if s.LastError != nil {
			return strings.ReplaceAll(*s.LastError, "\n", "; ")
		}
	}
	return ""
}

// Away returns since when the writes of a running mirror fail, and how often they were tried;
// 0 if they do not fail.
func Away(dir string) (since time.Time, tries int) {
	for _, s := range mirrorStates(dir) {
		if s.Away != nil {
			return s.Away.Since, s.Away.Tries
		}
	}
	return time.Time{}, 0
}

// mirrorStates are what the mirrors of a session did: one, or one for each agent that works for an
// issue of its own. A file that cannot be read counts as one of a mirror that showed nothing.
func mirrorStates(dir string) (all []*mirrorState) {
	files, _ := filepath.Glob(filepath.Join(dir, session.MirrorsDir, "*.json"))
	for _, file := range append(files, filepath.Join(dir, session.MirrorFile)) {
		s, found, err := readLedger(file)
		if found || err != nil {
			all = append(all, cmp.Or(s, newMirrorState()))
		}
	}
	return all
}

// CommentOf returns the id of the comment that shows record seq of the session in dir; 0 if there
// is none.
func CommentOf(dir string, seq int) (int64, error) {
	s, _, err := readMirrorState(dir)
	if err != nil {
		return 0, err
	}
	return s.Comments[ghsync.Marker{Seq: seq}.Key()], nil
}

// readMirrorState returns the stored state of the session in dir, and false if no usable one is
// stored.
func readMirrorState(dir string) (*mirrorState, bool, error) {
	return readLedger(filepath.Join(dir, session.MirrorFile))
}

func readLedger(file string) (*mirrorState, bool, error) {
	data, err := session.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return newMirrorState(), false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read mirror state: %w", err)
	}
	s := newMirrorState()
	if json.Unmarshal(data, s) != nil || s.Version != 1 {
		return newMirrorState(), false, nil
	}
	if s.Comments == nil {
		s.Comments = map[string]int64{}
	}
	if s.Intents == nil {
		s.Intents = map[string]intent{}
	}
	return s, true, nil
}

func (s *mirrorState) encode() ([]byte, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode mirror state: %w", err)
	}
	return append(data, '\n'), nil
}
