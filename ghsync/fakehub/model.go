package fakehub

import (
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/bare"
	"github.com/agentmux/agentmux/ghsync/fakehub/run"
)

// obj is a JSON object; its keys are encoded in order, which keeps entity tags stable.
type obj = map[string]any

type user struct {
	id      int64
	login   string
	name    string
	kind    string // User, Bot, Mannequin, Organization
	member  string
	deleted bool
}

type repo struct {
	id            int64
	owner         *user
	name          string
	private       bool
	archived      bool
	disabled      bool
	noIssues      bool
	noDrafts      bool
	actionsMayPR  bool // GITHUB_TOKEN may open pull requests
	parent        *repo
	defaultBranch string
	git           bare.Repo
	refs          map[string]string // full ref name to object id, after the last push
	roles         map[int64]Role
	labels        map[string]*label // by lower case name
	issues        map[int]*issue
	nextNumber    int
	statuses      map[string][]*status // by commit, oldest first
	checks        map[string][]*checkRun
	required      map[string]bool // contexts and check names
	runs          run.Runs
	dispatches    []Dispatch
	pushRules     []PushRule
	rules         []Rule
	webhooks      []Webhook
	created       time.Time
}

func (r *repo) fullName() string { return r.owner.login + "/" + r.name }

type label struct {
	id                       int64
	name, color, description string
}

type issue struct {
	id          int64
	number      int
	repo        *repo
	title, body string
	author      *user
	state       string // open, closed
	reason      string // completed, not_planned, reopened or ""
	locked      bool
	deleted     bool
	movedTo     *issue
	labels      []*label
	comments    []*comment
	events      []*event
	edits       []edit // of the body
	reactions   []*reaction
	created     time.Time
	updated     time.Time
	closed      time.Time
	pull        *pull // nil for an issue
}

// edit is one change of a body; the text is the one after it.
type edit struct {
	editor *user
	at     time.Time
	text   string
}

type comment struct {
	id        int64
	issue     *issue
	author    *user
	body      string
	created   time.Time
	updated   time.Time
	edits     []edit
	minimized bool
	app       string // slug of the app it was written through
	reactions []*reaction
}

type reaction struct {
	id      int64
	user    *user
	content string
	at      time.Time
}

type event struct {
	id       int64
	kind     string // labeled, unlabeled, renamed, closed, reopened, locked...
	actor    *user
	at       time.Time
	label    label
	from, to string
}

type pull struct {
	headRepo           *repo
	headBranch, base   string
	headSHA            string // last known
	draft              bool
	merged             bool
	mergedAt           time.Time
	mergedBy           *user
	mergeSHA           string
	reviews            []*review
	requested          []*user
	maintainerMayWrite bool
}

type review struct {
	id        int64
	user      *user
	state     string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED
	body      string
	commit    string
	at        time.Time
	reactions []*reaction
	inline    []InlineComment
}

type status struct {
	id                           int64
	context, state, desc, target string
	creator                      *user
	at                           time.Time
}

type checkRun struct {
	id                 int64
	sha                string
	spec               CheckSpec
	started, completed time.Time
}

// key looks names up without regard to case, as GitHub does.
func key(name string) string { return strings.ToLower(name) }

func (i *issue) hasLabel(name string) bool {
	for _, l := range i.labels {
		if key(l.name) == key(name) {
			return true
		}
	}
	return false
}

// labelNames are in the order in which they were put on.
func (i *issue) labelNames() (names []string) {
	for _, l := range i.labels {
		names = append(names, l.name)
	}
	return names
}

// touch records a change at now.
func (i *issue) touch(now time.Time) { i.updated = now }

// head is the commit the pull request's branch has now, or had when it was last seen.
func (p *pull) head() string {
	if sha, ok := p.headRepo.refs["refs/heads/"+p.headBranch]; ok && !p.merged {
		p.headSHA = sha
	}
	return p.headSHA
}

// stamp is GitHub's form of a time: seconds in UTC, null when there is none.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
