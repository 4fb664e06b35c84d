package gate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentmux/agentmux/ghsync"
)

// Kind says by what a session was asked for.
type Kind string

const (
	Label   Kind = "label"   // somebody set the request label
	Comment Kind = "comment" // somebody wrote a command
	Review  Kind = "review"  // somebody wants changes of a pull request, or wrote a command there
	CLI     Kind = "cli"     // a person typed agentmux issue
)

// Trigger is the id of what asked for a session. It is the same whichever way the request was
// noticed. Triggers can be compared; two issues may have the same one, as when a person sets a
// label on both at once.
type Trigger struct {
	Kind Kind
	Name string    // the label in lower case, or the session
	At   time.Time // when the label was set, by the server, in seconds
	ID   int64     // the account that set the label, 0 if it is deleted; or the comment or the review
}

// LabelTrigger is the trigger of a label event. GitHub ignores the case of a label, and one of
// its interfaces gives the present name of a label and the other the former one.
func LabelTrigger(e ghsync.LabelEvent) Trigger {
	return Trigger{Kind: Label, Name: labelName(e.Name), At: time.Unix(e.At.Unix(), 0).UTC(), ID: e.Actor.ID}
}

// CommentTrigger is the trigger of a command in a comment.
func CommentTrigger(id int64) Trigger { return Trigger{Kind: Comment, ID: id} }

// ReviewTrigger is the trigger of a round that a review wants. No session begins by it. GitHub counts reviews and
// comments apart.
func ReviewTrigger(id int64) Trigger { return Trigger{Kind: Review, ID: id} }

// CLITrigger is the trigger of a session that a person started at a terminal.
func CLITrigger(session string) Trigger { return Trigger{Kind: CLI, Name: session} }

// String is label/<name>/<time>/<actor id>, comment/<id>, review/<id> or cli/<session>; "" for no trigger.
func (t Trigger) String() string {
	switch t.Kind {
	case Label:
		return fmt.Sprintf("%s/%s/%s/%d", Label, t.Name, t.At.UTC().Format(time.RFC3339), t.ID)
	case Comment, Review:
		return fmt.Sprintf("%s/%d", t.Kind, t.ID)
	case CLI:
		return string(CLI) + "/" + t.Name
	}
	return ""
}

// sessionName is what sessions may be called.
var sessionName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$`) })

// ParseTrigger reads what String returns, and nothing else.
func ParseTrigger(text string) (Trigger, error) {
	kind, rest, _ := strings.Cut(text, "/")
	t := Trigger{Kind: Kind(kind)}
	switch t.Kind {
	case Label:
		t.label(rest)
	case Comment, Review:
		t.ID, _ = strconv.ParseInt(rest, 10, 64)
	case CLI:
		if sessionName().MatchString(rest) {
			t.Name = rest
		}
	}
	// What was not understood is missing, and what was understood in another form comes out
	// in the one form that String has.
	if t.empty() || t.String() != text {
		return Trigger{}, fmt.Errorf("%.120q is not a trigger", text)
	}
	return t, nil
}

// label reads <name>/<time>/<actor id>. The name may hold slashes.
func (t *Trigger) label(text string) {
	parts := strings.Split(text, "/")
	if len(parts) < 3 {
		return
	}
	name := strings.Join(parts[:len(parts)-2], "/")
	at, err := time.Parse(time.RFC3339, parts[len(parts)-2])
	id, bad := strconv.ParseInt(parts[len(parts)-1], 10, 64)
	if err == nil && bad == nil && id >= 0 && labelName(name) == name {
		t.Name, t.At, t.ID = name, time.Unix(at.Unix(), 0).UTC(), id
	}
}

// labelName returns the form that a trigger has of a label's name.
func labelName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return unicode.ToLower(r)
	}, strings.ToValidUTF8(name, string(utf8.RuneError)))
}

func (t Trigger) empty() bool {
	switch t.Kind {
	case Label, CLI:
		return t.Name == ""
	case Comment, Review:
		return t.ID <= 0
	}
	return true
}

// MarshalText writes the trigger as String does.
func (t Trigger) MarshalText() ([]byte, error) {
	if t.empty() {
		return nil, fmt.Errorf("%+v is not a trigger", struct{ Kind Kind }{t.Kind})
	}
	return []byte(t.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (t *Trigger) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTrigger(string(text))
	return err
}
