package claim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"
)

// State is how far the holder of a claim is.
type State string

const (
	Queued   State = "queued"   // waits for a slot of its holder
	Running  State = "running"  // a session works on the issue
	Handover State = "handover" // the holder let go: another host should continue
)

const (
	version    = 1
	maxLine    = 2 << 10
	maxTrigger = 512
	maxGen     = 1_000_000
	maxIssue   = 1 << 31
)

// sessionRule is what sessions may be called.
var sessionRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// Claim says which host works on an issue, and for which session.
type Claim struct {
	RepoID  int64     `json:"repo_id"`
	Issue   int       `json:"issue"`
	Session string    `json:"session"`
	Trigger string    `json:"trigger"` // id of the event that asked for the work
	Host    HostID    `json:"host"`
	State   State     `json:"state"`
	Gen     int       `json:"gen"` // 1, and one more with each host that took it over
	At      time.Time `json:"at"`  // by the holder's clock: for people, nothing is decided by it
}

// line is a claim as it stands in a commit. Nonce makes two claims of processes that share a
// host id two commits.
type line struct {
	V int `json:"v"`
	Claim
	Nonce string `json:"nonce,omitempty"`
}

// ErrNewer says that a newer agentmux wrote a record.
var ErrNewer = errors.New("it was written by a newer agentmux")

// ParseClaim reads one line that anybody with write permission may have written. Fields that it
// does not know are left out; ErrNewer for another version.
func ParseClaim(text string) (Claim, error) {
	var l line
	if len(text) > maxLine || !utf8.ValidString(text) {
		return Claim{}, fmt.Errorf("claim: not a text of at most %d bytes", maxLine)
	}
	// The version comes first: a later one may have other types.
	var head struct{ V int }
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return Claim{}, fmt.Errorf("claim: %w", err)
	}
	if head.V > version {
		return Claim{}, fmt.Errorf("claim: version %d: %w", head.V, ErrNewer)
	}
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return Claim{}, fmt.Errorf("claim: %w", err)
	}
	if err := l.check(); err != nil {
		return Claim{}, fmt.Errorf("claim: %w", err)
	}
	l.At = l.At.UTC()
	return l.Claim, nil
}

func (l line) check() error {
	_, badHost := ParseHostID(string(l.Host))
	switch {
	case l.V != version:
		return fmt.Errorf("bad version %d", l.V)
	case l.RepoID <= 0:
		return fmt.Errorf("bad repository id %d", l.RepoID)
	case l.Issue <= 0 || l.Issue > maxIssue:
		return fmt.Errorf("bad issue number %d", l.Issue)
	case !sessionRule.MatchString(l.Session):
		return fmt.Errorf("bad session name %.80q", l.Session)
	case !printable(l.Trigger):
		return fmt.Errorf("bad trigger %.80q", l.Trigger)
	case badHost != nil:
		return badHost
	case l.State != Queued && l.State != Running && l.State != Handover:
		return fmt.Errorf("bad state %.40q", string(l.State))
	case l.Gen < 1 || l.Gen > maxGen:
		return fmt.Errorf("bad generation %d", l.Gen)
	case l.At.IsZero():
		return errors.New("no time")
	}
	return nil
}

func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return s != "" && len(s) <= maxTrigger && utf8.ValidString(s)
}

// text is the line that ParseClaim reads. Each call gives another one.
func (c Claim) text() (string, error) {
	c.At = c.At.UTC().Truncate(time.Second)
	l := line{V: version, Claim: c, Nonce: random()}
	if err := l.check(); err != nil {
		return "", fmt.Errorf("claim: %w", err)
	}
	return oneLine(l)
}

// oneLine is v as JSON of at most 2 KiB.
func oneLine(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // three characters of a label would take six bytes each
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	text := string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	if len(text) > maxLine {
		return "", fmt.Errorf("a record of %d bytes, at most %d", len(text), maxLine)
	}
	return text, nil
}
