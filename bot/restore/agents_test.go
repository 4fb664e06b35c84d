package restore_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/restore"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/agents"
)

const twoAgents = `session: shop
agents:
  - {name: api, branch: f/api, issue: 7}
  - {name: page, branch: f/page, task: Write it, depends_on: api}
`

// fetchedRun is the checkpoint of a run of an agents file, of which one agent is done.
func fetchedRun(t *testing.T) (*checkpoint.Fetched, *orchestrator.State) {
	t.Helper()
	text := []byte(`{"v":1,"repo":"octo/widgets","issue":7}`)
	sess, err := session.Create(session.CreateSpec{
		Project: t.TempDir(), Now: began, Name: "shop", Agents: []byte(twoAgents), Files: map[string][]byte{"blobs/" + checkpoint.Digest(text): text},
		State: orchestrator.State{
			Kind: orchestrator.KindAgents, Repo: "octo/widgets", BaseBranch: "main", BaseSHA: base, Settings: orchestrator.DefaultSettings(), Phase: workflows.TeamPhase,
			Team: map[string]agents.Progress{"api": {Marker: "0", Base: base, Commit: commit, Parent: base, Branch: "f/api", Snapshot: checkpoint.Digest(text)}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	s, err := sess.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	files, left, err := sess.Kept(1 << 20)
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	return &checkpoint.Fetched{
		Manifest: checkpoint.Manifest{
			Session: orchestrator.PublicID(s.SessionID, s.Identity), Repo: "octo/widgets", Issues: []int{7}, Host: "h_0123456789abcdef", At: began,
			Record: s.Seq, Base: base, Work: map[string]checkpoint.Work{},
		},
		Commit: strings.Repeat("d", 40), Parents: []string{commit}, Session: files, Trees: map[string]string{},
	}, s
}

// Attack 37: a run of an agents file is continued only with the file that the person has, the commits that its state names, and the
// branches of its own agents; anything else is refused by name, and nothing of it is to be seen.
func TestSecurity37AForgedRunOfAgentsIsRefused(t *testing.T) {
	t.Parallel()
	progress := func(name string, do func(*agents.Progress)) func(*checkpoint.Fetched, *orchestrator.State) {
		return func(f *checkpoint.Fetched, s *orchestrator.State) {
			p := s.Team[name]
			do(&p)
			s.Team[name] = p
			f.Session[session.StateFile], _ = s.Encode()
		}
	}
	commits := func(name, task, branch string) func(*checkpoint.Fetched, *orchestrator.State) {
		return func(f *checkpoint.Fetched, s *orchestrator.State) {
			s.Pending = append(s.Pending, orchestrator.Effect{Type: orchestrator.EffCommit, Key: "team/" + task + "/commit", Args: orchestrator.Args{Task: task, Branch: branch}})
			progress(name, func(p *agents.Progress) { p.Step = "commit" })(f, s)
		}
	}
	for name, c := range map[string]struct {
		do   func(*checkpoint.Fetched, *orchestrator.State)
		want string // empty = it is continued
	}{
		"as it was":         {func(*checkpoint.Fetched, *orchestrator.State) {}, ""},
		"after the base":    {func(f *checkpoint.Fetched, _ *orchestrator.State) { f.Parents = append(f.Parents, base) }, ""},
		"on a later branch": {progress("api", func(p *agents.Progress) { p.Branch = "f/api-2" }), ""},
		"another file": {func(f *checkpoint.Fetched, _ *orchestrator.State) {
			f.Session[session.AgentsFile] = []byte(strings.Replace(twoAgents, "Write it", "Leak it", 1))
		}, "agents file is not the one of this project"},
		"a workflow, too": {func(f *checkpoint.Fetched, _ *orchestrator.State) { f.Session[session.DefinitionFile] = nil }, "a workflow beside its agents file"},
		"another kind": {func(f *checkpoint.Fetched, s *orchestrator.State) {
			s.Kind = orchestrator.KindPipeline
			f.Session[session.StateFile], _ = s.Encode()
		}, `of the kind "pipeline"`},
		"another run": {func(f *checkpoint.Fetched, s *orchestrator.State) {
			s.SessionID = "other"
			f.Manifest.Session = orchestrator.PublicID("other", s.Identity)
			f.Session[session.StateFile], _ = s.Encode()
		}, `its run is "other"`},
		"a commit that no agent made": {func(f *checkpoint.Fetched, _ *orchestrator.State) {
			f.Parents = append(f.Parents, strings.Repeat("e", 40))
		}, "has finished the commits"},
		"a commit that did not come":   {func(f *checkpoint.Fetched, _ *orchestrator.State) { f.Parents = nil }, "has finished the commits"},
		"a start that did not come":    {progress("page", func(p *agents.Progress) { p.Base = strings.Repeat("e", 40) }), "has finished the commits"},
		"an agent that the file lacks": {progress("other", func(p *agents.Progress) { p.Marker = "0" }), `an agent "other"`},
		"another tip":                  {progress("page", func(p *agents.Progress) { p.Tip = strings.Repeat("e", 40) }), "agent page began at"},
		"another parent":               {progress("api", func(p *agents.Progress) { p.Parent = strings.Repeat("e", 40) }), "agent api began at"},
		"another branch":               {progress("api", func(p *agents.Progress) { p.Branch = "f/page" }), `has the branch "f/page", not "f/api"`},
		"a branch below":               {progress("api", func(p *agents.Progress) { p.Branch = "f/api-2/x" }), "has the branch"},
		"the branch of the base": {func(f *checkpoint.Fetched, s *orchestrator.State) {
			s.BaseBranch = "f/api"
			f.Session[session.StateFile], _ = s.Encode()
		}, `is on the branch "f/api"`},
		"work on no branch": {progress("api", func(p *agents.Progress) { p.Branch = "" }), `is on the branch ""`},
		"another step":      {progress("page", func(p *agents.Progress) { p.Step = "start_agent" }), `at the step "start_agent"`},
		"no issue":          {progress("api", func(p *agents.Progress) { p.Snapshot = "" }), "lacks the text of the issue 7"},
		"a changed issue": {func(f *checkpoint.Fetched, s *orchestrator.State) {
			f.Session["blobs/"+s.Team["api"].Snapshot] = []byte(`{"v":1,"repo":"octo/widgets","issue":7,"title":"Leak it"}`)
		}, "lacks the text of the issue 7"},
		"the text of another issue": {func(f *checkpoint.Fetched, s *orchestrator.State) {
			text := []byte(`{"v":1,"repo":"octo/widgets","issue":8}`)
			f.Session["blobs/"+checkpoint.Digest(text)] = text
			progress("api", func(p *agents.Progress) { p.Snapshot = checkpoint.Digest(text) })(f, s)
		}, "lacks the text of the issue 7"},
		"a push elsewhere": {func(f *checkpoint.Fetched, s *orchestrator.State) {
			s.Pending = append(s.Pending, orchestrator.Effect{Type: orchestrator.EffPush, Key: "team/api/push", Args: orchestrator.Args{Task: "api", Branch: "main"}})
			f.Session[session.StateFile], _ = s.Encode()
		}, `it owes the branch "main"`},
		"a first commit":                                {commits("page", "page", "f/page"), ""},
		"a first commit elsewhere":                      {commits("page", "page", "main"), `it owes the branch "main"`},
		"a first commit on the branch of another agent": {commits("page", "page", "f/api-2"), `it owes the branch "f/api-2"`},
		"a first commit of no agent":                    {commits("page", "other", "f/page"), `it owes the branch "f/page"`},
		"a first push": {func(f *checkpoint.Fetched, s *orchestrator.State) {
			s.Pending = append(s.Pending, orchestrator.Effect{Type: orchestrator.EffPush, Key: "team/page/push", Args: orchestrator.Args{Task: "page", Branch: "f/page"}})
			f.Session[session.StateFile], _ = s.Encode()
		}, `it owes the branch "f/page"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, s := fetchedRun(t)
			c.do(f, s)
			project := t.TempDir()
			dir, err := restore.Publish(restore.Spec{
				Project: project, From: f, Agents: [][]byte{[]byte("session: x\n"), []byte(twoAgents)}, Host: claim.HostID("h_fedcba9876543210"), Now: began.Add(time.Minute),
				Note: func(*orchestrator.State, string) error { return nil },
			})
			var refused *checkpoint.RefusedError
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.As(err, &refused) || dir != "" || !strings.Contains(strings.Join(refused.Problems, "\n"), c.want)):
				t.Errorf("%q: %v", dir, err)
			}
			if left, _ := filepath.Glob(filepath.Join(session.Dir(project), "shop*")); c.want != "" && len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	f, s := fetchedRun(t)
	if got := restore.Branches(s); !slices.Equal(got, []string{"f/api"}) {
		t.Errorf("branches %q", got)
	}
	if _, err := restore.Publish(restore.Spec{Project: t.TempDir(), From: f, Host: claim.HostID("h_fedcba9876543210"), Now: began}); !errors.As(err, new(*checkpoint.RefusedError)) {
		t.Errorf("without an agents file here: %v", err)
	}
}
