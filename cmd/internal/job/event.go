package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/bot/ear"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/sanitize"
)

// maxEvent bounds the file of an event that is read. A title, a body and a comment have 64 Ki
// characters each at most; only lists of commits, which ask for nothing, are longer.
const maxEvent = 8 << 20

// Request is what the event of a workflow run asks for.
type Request struct {
	Repo    ghsync.Repo
	Issue   int  // or pull request
	Pull    bool // Issue is the number of a pull request
	Command bool // a comment asks
	Sweep   bool // nothing is asked for: what was lost is to be found
	// Labeled is when the label was set that asks, by the server's clock; zero: not by a label, or not told.
	Labeled time.Time
	// Idle says why there is nothing to do; "" if there is.
	Idle string
}

// event is the part of an event that is looked at. Numbers and names alone are used: what was
// written is read from the server, and judged as it is there.
type event struct {
	Action     string `json:"action"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
	Label struct {
		Name string `json:"name"`
	} `json:"label"`
	Issue struct {
		Number      int              `json:"number"`
		UpdatedAt   any              `json:"updated_at"`
		PullRequest *json.RawMessage `json:"pull_request"`
	} `json:"issue"`
	Comment struct {
		Body string `json:"body"`
	} `json:"comment"`
	Inputs  map[string]any `json:"inputs"`
	Payload map[string]any `json:"client_payload"`
}

// ReadEvent returns what the event of the run asks for. env looks up the runner's variables, label is
// bot.label, and asked the issue that the step names, "" if it names none. It sends nothing. An error
// says what is wrong with the file or with the number.
func ReadEvent(env func(string) string, label, asked string) (Request, error) {
	name := env("GITHUB_EVENT_NAME")
	read, known := kinds[name]
	if !known {
		return Request{Idle: fmt.Sprintf("the event %q asks for nothing", name)}, nil
	}
	repo, err := request.ParseRepo(env("GITHUB_REPOSITORY"), env("GITHUB_SERVER_URL"))
	if err != nil {
		return Request{}, fmt.Errorf("GITHUB_REPOSITORY: %w", err)
	}
	e, err := readFile(env("GITHUB_EVENT_PATH"))
	if err != nil {
		return Request{}, fmt.Errorf("read the event (GITHUB_EVENT_PATH): %w", err)
	}
	r := Request{Repo: repo}
	if name != "schedule" && !strings.EqualFold(e.Repository.FullName, repo.String()) {
		r.Idle = "the event is of another repository than the run"
		return r, nil
	}
	if err := read(e, label, asked, &r); err != nil || r.Idle != "" || r.Sweep {
		return r, err
	}
	return r, r.check(asked)
}

// settling is how long another label may follow the one that asks, which the gate waits for.
const settling = 5 * time.Second

// settle waits until the labels count as they are, or ctx ends. The gate would read the issue twice otherwise. Where the
// clocks of the server and of this machine differ, the gate still waits.
func (r Request) settle(ctx context.Context) {
	left := settling - time.Since(r.Labeled)
	if r.Labeled.IsZero() || left <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(left, settling)):
	}
}

// check refuses a request without an issue, or with another one than the step names.
func (r Request) check(asked string) error {
	if r.Issue < 1 {
		return errors.New("the event names no issue")
	}
	if asked == "" {
		return nil
	}
	n, err := number(asked)
	if err != nil {
		return fmt.Errorf("input issue: %w", err)
	}
	if n != r.Issue {
		return fmt.Errorf("input issue: expected %d, which the event is of, found %d", r.Issue, n)
	}
	return nil
}

// kinds are the events that may ask for something, and how they are read.
var kinds = map[string]func(e event, label, asked string, r *Request) error{
	"issues": func(e event, label, _ string, r *Request) error {
		r.Issue = e.Issue.Number
		if _, ok := ghsync.RequestLabel(e.Label.Name, label); e.Action != "labeled" || !ok {
			r.Idle = "the event sets no label that asks for work"
		}
		at, _ := e.Issue.UpdatedAt.(string)
		r.Labeled, _ = time.Parse(time.RFC3339, at) // one that cannot be read is not waited for
		return nil
	},
	"issue_comment": func(e event, _, _ string, r *Request) error {
		r.Issue, r.Pull, r.Command = e.Issue.Number, e.Issue.PullRequest != nil, true
		if _, ok := ear.Parse(sanitize.Raw(e.Comment.Body)); e.Action != "created" || !ok {
			r.Idle = "the comment is not a command"
		}
		return nil
	},
	"workflow_dispatch": func(e event, _, asked string, r *Request) error {
		return r.dispatched(e.Inputs["issue"], asked)
	},
	"repository_dispatch": func(e event, _, asked string, r *Request) error {
		return r.dispatched(e.Payload["issue"], asked)
	},
	"schedule": func(_ event, _, _ string, r *Request) error {
		r.Sweep = true
		return nil
	},
}

// dispatched takes the issue of a run that was started by hand or by a program.
func (r *Request) dispatched(value any, asked string) (err error) {
	text := asked
	switch v := value.(type) {
	case string:
		text = v
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	if r.Issue, err = number(text); err != nil {
		err = fmt.Errorf("input issue: %w", err)
	}
	return err
}

// number reads the number of an issue: digits and nothing else.
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 || text[0] == '+' || text[0] == '0' {
		return 0, fmt.Errorf("expected the number of an issue, found %q", cut(text))
	}
	return int(n), nil
}

// cut bounds a text of others in a message.
func cut(text string) string {
	const most = 80
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// readFile reads the file of an event.
func readFile(path string) (e event, err error) {
	if path == "" {
		return e, errors.New("the variable is not set")
	}
	f, err := os.Open(path)
	if err != nil {
		return e, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return e, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEvent+1))
	if err != nil {
		return e, err
	}
	if len(data) > maxEvent {
		return e, fmt.Errorf("%s has more than %d MiB", path, maxEvent>>20)
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("%s is not the JSON of an event: %w", path, err)
	}
	return e, nil
}
