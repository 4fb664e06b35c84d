package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// definitions are the workflows that were loaded before: name -> []byte.
var definitions sync.Map

func definition(t testing.TB, name string) []byte {
	t.Helper()
	if data, ok := definitions.Load(name); ok {
		return data.([]byte)
	}
	_, data, problems := workflows.Load(name, nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	definitions.Store(name, data)
	return data
}

func spec(t testing.TB, project string) session.CreateSpec {
	t.Helper()
	return session.CreateSpec{
		Project: project, Now: noon, Source: "Refuse expired tokens, please", Request: "Refuse expired tokens.",
		Definition: definition(t, "feature"),
		State:      orchestrator.State{Settings: orchestrator.DefaultSettings(), BaseBranch: "main", BaseSHA: "abc"},
	}
}

func create(t testing.TB, spec session.CreateSpec) *session.Session {
	t.Helper()
	s, err := session.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func fresh(t *testing.T) *session.Session {
	t.Helper()
	return create(t, spec(t, t.TempDir()))
}

func read(t *testing.T, s *session.Session, name string) string {
	t.Helper()
	data, err := os.ReadFile(s.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T, s *session.Session) *orchestrator.State {
	t.Helper()
	st, err := s.ReadState()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestCreateMakesAWholeSession(t *testing.T) {
	s := fresh(t)
	if s.Name() != "20260115-120000-refuse-expired-tokens-please" {
		t.Errorf("name is %s", s.Name())
	}
	st := state(t, s)
	if st.Phase != "architecting" || st.Seq != 2 || st.SessionID != s.Name() || st.FeatureDir != s.Dir ||
		st.FeatureBranch != "agentmux/refuse-expired-tokens-please" || st.SessionName != "agentmux-refuse-expired-tokens-please" ||
		st.UpdatedBy != "launcher" || st.LastEvent != "feature_created" || st.Visit != 1 {
		t.Errorf("state is %+v", st)
	}
	records, bad, err := s.Events(0)
	if err != nil || bad != 0 || len(records) != 2 || records[0].Type != "session_created" || records[1].Type != "event" {
		t.Fatalf("records are %+v, %d bad, %v", records, bad, err)
	}
	if created, _ := records[0].Data.(orchestrator.SessionCreatedRecord); created.Branch != st.FeatureBranch || created.Title != "Refuse expired tokens." {
		t.Errorf("first record says %v", records[0].Data)
	}
	if want := "# Requirements\n\n## Initial Request\n\nRefuse expired tokens.\n\n## Clarifications\n"; read(t, s, "requirements.md") != want {
		t.Errorf("requirements.md is %q", read(t, s, "requirements.md"))
	}
	if !strings.Contains(read(t, s, "context.md"), s.Dir) {
		t.Error("context.md does not name the session directory")
	}
	for _, role := range []string{"reviewer_logic", "reviewer_quality", "reviewer_expert"} {
		if file := artifact.ReviewArtifact(role); !strings.Contains(read(t, s, "context.md"), "`"+file+"`") {
			t.Errorf("context.md does not name %s", file)
		}
	}
	if got := read(t, s, "created_files.log"); !strings.HasPrefix(got, "2026-01-15 12:00:00  state.json\n2026-01-15 12:00:00  requirements.md\n2026-01-15 12:00:00  context.md\n2026-01-15 12:00:00  commands.jsonl\n") {
		t.Errorf("created_files.log begins %q", got)
	}
	if got := read(t, s, "../../.gitignore"); got != ".sessions/\n.last_completion.json\n/.gitignore\n" {
		t.Errorf(".gitignore is %q", got)
	}
	if !session.Running(s.Dir) || session.Holder(s.Dir).PID != os.Getpid() {
		t.Error("the new session is not locked by this process")
	}
	if err := s.Release(); err != nil || session.Running(s.Dir) {
		t.Errorf("after Release: running %v, %v", session.Running(s.Dir), err)
	}
}

func TestCreateKeepsTheProjectsIgnoreFile(t *testing.T) {
	project := t.TempDir()
	if err := os.MkdirAll(filepath.Join(project, ".agentmux"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(project, ".agentmux", ".gitignore"), "mine\n")
	s := create(t, spec(t, project))
	if got := read(t, s, "../../.gitignore"); got != "mine\n" {
		t.Errorf(".gitignore is %q", got)
	}
}

func TestProtocol(t *testing.T) {
	t.Run("D1/a half-made session is not listed", func(t *testing.T) {
		s := fresh(t)
		half := s.Dir + "-two.tmp-99"
		if err := os.CopyFS(half, os.DirFS(s.Dir)); err != nil {
			t.Fatal(err)
		}
		entries, err := session.List(s.Project())
		if err != nil || len(entries) != 1 || entries[0].Name != s.Name() {
			t.Errorf("listed %+v, %v", entries, err)
		}
	})
	t.Run("D2/same second and slug get numbers", func(t *testing.T) {
		project := t.TempDir()
		for _, want := range []string{"", "-2", "-3"} {
			s := create(t, spec(t, project))
			if s.Name() != "20260115-120000-refuse-expired-tokens-please"+want || state(t, s).SessionID != s.Name() {
				t.Errorf("name is %s", s.Name())
			}
		}
	})
	t.Run("D2/a given name", func(t *testing.T) {
		project := t.TempDir()
		sp := spec(t, project)
		for _, bad := range []string{"a.b", "../x", "-a", strings.Repeat("a", 81)} {
			sp.Name = bad
			var wrong *session.NameError
			if _, err := session.Create(sp); !errors.As(err, &wrong) || wrong.Taken {
				t.Errorf("name %q: %v", bad, err)
			}
		}
		sp.Name = "My_run"
		create(t, sp)
		var taken *session.NameError
		if _, err := session.Create(sp); !errors.As(err, &taken) || !strings.Contains(err.Error(), "agentmux resume My_run") {
			t.Errorf("taken name: %v", err)
		}
	})
	t.Run("D2/a request as editors save it", func(t *testing.T) {
		sp := spec(t, t.TempDir())
		sp.Request = "\ufeff \r\n"
		if _, err := session.Create(sp); !errors.Is(err, session.ErrBlankRequest) {
			t.Errorf("blank: %v", err)
		}
		sp.Request = "\ufeffRefuse.\r\n\r\nExpired tokens.\r\n"
		s := create(t, sp)
		if text := read(t, s, "requirements.md"); !strings.Contains(text, "## Initial Request\n\nRefuse.\n\nExpired tokens.\n\n## Clar") {
			t.Errorf("requirements.md is %q", text)
		}
		if records, _, _ := s.Events(0); records[0].Data.(orchestrator.SessionCreatedRecord).Title != "Refuse." {
			t.Errorf("created as %+v", records[0].Data)
		}
	})
	t.Run("D2/a given name that is only a time stamp", func(t *testing.T) {
		sp := spec(t, t.TempDir())
		sp.Name = "20260115-120000-"
		st := state(t, create(t, sp))
		if st.FeatureBranch != "agentmux/20260115-120000" || st.SessionName != "agentmux-20260115-120000" {
			t.Errorf("branch %q, tmux session %q", st.FeatureBranch, st.SessionName)
		}
	})
	t.Run("D1/what a killed launcher left takes no name", func(t *testing.T) {
		sp := spec(t, t.TempDir())
		sp.Name = "anew"
		left := filepath.Join(session.Dir(sp.Project), fmt.Sprintf("anew.tmp-%d", os.Getpid()))
		for _, dir := range []string{left, left + "-2"} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		create(t, sp)
		entries, err := session.List(sp.Project)
		if err != nil || len(entries) != 1 || entries[0].Name != "anew" {
			t.Errorf("listed %+v, %v", entries, err)
		}
	})
	t.Run("D3/a second host is refused and told who runs it", func(t *testing.T) {
		s := fresh(t)
		other, err := session.Open(s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		var locked *session.LockedError
		if err := other.Lock(0); !errors.As(err, &locked) || locked.Owner.PID != os.Getpid() || !strings.Contains(err.Error(), "agentmux attach") {
			t.Errorf("lock: %v", err)
		}
		if err := s.Release(); err != nil {
			t.Fatal(err)
		}
		if err := other.Lock(0); err != nil {
			t.Errorf("lock after release: %v", err)
		}
		other.Close()
	})
	t.Run("D3/probers never make a start fail", func(t *testing.T) {
		s := fresh(t)
		s.Release()
		stop := make(chan struct{})
		var probers sync.WaitGroup
		for range 4 {
			probers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						session.Running(s.Dir)
					}
				}
			})
		}
		for range 50 {
			if err := s.Lock(0); err != nil {
				t.Errorf("lock: %v", err)
				break
			}
			s.Release()
		}
		close(stop)
		probers.Wait()
	})
	t.Run("S2/what cannot be read is named and does not break a listing", brokenSessions)
	t.Run("C6/each created path once over three starts", createdOnce)
	t.Run("E4/the ways to name a session", findSession)
	t.Run("D4/artifacts that are no artifacts", badArtifacts)
}

func brokenSessions(t *testing.T) {
	project := t.TempDir()
	good := create(t, spec(t, project))
	cases := map[string]struct {
		edit func(st string) string
		want string
	}{
		"bad JSON":      {func(string) string { return "{" }, "corrupt: state.json"},
		"unknown phase": {func(st string) string { return strings.Replace(edited(st), `"architecting"`, `"dreaming"`, 1) }, `corrupt: state.json: phase "dreaming"`},
		"wrong type":    {func(st string) string { return strings.Replace(edited(st), `"paused": false`, `"paused": 7`, 1) }, "corrupt: state.json"},
		"too large":     {func(st string) string { return st + strings.Repeat(" ", 8<<20) }, "corrupt: state.json is larger"},
	}
	for name, c := range cases {
		s := create(t, spec(t, project))
		write(t, s.Path("state.json"), c.edit(read(t, s, "state.json")))
		var corrupt *session.CorruptError
		if _, err := s.ReadState(); !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "--from-backup") {
			t.Errorf("%s: %v", name, err)
		}
		entries, err := session.List(project)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name == s.Name() && !strings.HasPrefix(e.Condition(), c.want) {
				t.Errorf("%s is listed as %q, want %q", name, e.Condition(), c.want)
			}
			if e.Name == good.Name() && e.Condition() != "running" {
				t.Errorf("the good one is listed as %q", e.Condition())
			}
		}
	}
	newer := create(t, spec(t, project))
	write(t, newer.Path("state.json"), strings.Replace(read(t, newer, "state.json"), `"schema_version": 1`, `"schema_version": 2`, 1))
	var later *session.NewerError
	if _, err := newer.ReadState(); !errors.As(err, &later) || !errors.Is(err, orchestrator.ErrNewer) {
		t.Errorf("schema 2: %v", err)
	}
	changed := create(t, spec(t, project))
	write(t, changed.Path("definition.yaml"), read(t, changed, "definition.yaml")+"# more\n")
	reopened, err := session.Open(changed.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reopened.ReadState(); err == nil || !strings.Contains(err.Error(), "definition.yaml is not the one") {
		t.Errorf("changed definition: %v", err)
	}
}

func createdOnce(t *testing.T) {
	s := fresh(t)
	if first := strings.Join(createdNames(t, s)[:4], " "); first != "state.json requirements.md context.md commands.jsonl" {
		t.Errorf("the log begins with %s", first)
	}
	odd := map[string]string{ // name, as it is shown
		"odd\nname\x01.md": `odd\nname\x01.md`, "two  spaces": "two  spaces", "caf\xe9": `caf\xE9`, "über": "über", "end\r": `end\x0D`,
		"c1\u0085": `c1\xC2\x85`, "launches/2026-01-15 12:00:00  x": "launches/2026-01-15 12:00:00  x",
	}
	for name := range odd {
		if err := os.WriteFile(s.Path(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".hidden", "half.tmp", "launches/.half"} {
		write(t, s.Path(name), "")
	}
	if err := os.Symlink("requirements.md", s.Path("link")); err != nil {
		t.Fatal(err)
	}
	write(t, s.Path("created_files.log"), read(t, s, "created_files.log")+"no line\n"+strings.Repeat("x", 2<<20)+"\n")
	for n := range 3 {
		again, err := session.Open(s.Dir)
		if err != nil {
			t.Fatal(err)
		}
		write(t, s.Path(fmt.Sprintf("start-%d", n)), "")
		for range 2 {
			if err := again.LogCreated(noon); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := map[string]int{}
	for _, name := range createdNames(t, s) {
		seen[name]++
	}
	for name, n := range seen {
		if n != 1 && name != "" {
			t.Errorf("%s is named %d times", name, n)
		}
	}
	for _, shown := range odd {
		if seen[shown] != 1 {
			t.Errorf("%q is missing", shown)
		}
	}
	for _, there := range []string{"start-0", "start-1", "start-2", "events.jsonl"} {
		if seen[there] != 1 {
			t.Errorf("%s is missing", there)
		}
	}
	for _, never := range []string{".hidden", "half.tmp", "launches/.half", "lock", "created_files.log", "link"} {
		if seen[never] > 0 {
			t.Errorf("%s is named", never)
		}
	}
}

// createdNames are the paths that created_files.log names.
func createdNames(t *testing.T, s *session.Session) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(read(t, s, "created_files.log")) {
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		names = append(names, name)
	}
	return names
}

func findSession(t *testing.T) {
	project := t.TempDir()
	sp := spec(t, project)
	sp.Name = "alpha"
	alpha := create(t, sp)
	sp.Name, sp.State.IssueNumber, sp.State.Repo = "alpine", 7, "acme/app"
	alpine := create(t, sp)
	sp.Name = "beta"
	create(t, sp)
	cases := []struct {
		arg, want  string
		candidates []string
	}{
		{"alpha", "alpha", nil},
		{"alpi", "alpine", nil},
		{alpha.Dir, "alpha", nil},
		{".agentmux/.sessions/alpine", "alpine", nil},
		{"al", "", []string{"alpha", "alpine"}},
		{"7", "", []string{"alpine", "beta"}},
		{"#7", "", []string{"alpine", "beta"}},
		{"ACME/app#7", "", []string{"alpine", "beta"}},
		{"acme/other#7", "", nil},
		{"8", "", nil},
		{"", "", []string{"alpha", "alpine", "beta"}},
	}
	for _, c := range cases {
		e, err := session.Find(project, c.arg, nil)
		var ambiguous *session.AmbiguousError
		var missing *session.NotFoundError
		switch {
		case c.want != "" && (err != nil || e.Name != c.want):
			t.Errorf("%q: %s, %v, want %s", c.arg, e.Name, err, c.want)
		case c.want == "" && c.candidates == nil && !errors.As(err, &missing):
			t.Errorf("%q: %v, want none found", c.arg, err)
		case c.candidates != nil && (!errors.As(err, &ambiguous) || !slices.Equal(ambiguous.Candidates, c.candidates)):
			t.Errorf("%q: %v, want candidates %v", c.arg, err, c.candidates)
		}
	}
	sp.Name = "20260115-120000-refuse"
	dated := create(t, sp).Name()
	for arg, found := range map[string]bool{"2": false, "20": false, "2026011": false, "20260115": true, "20260115-": true} {
		if e, err := session.Find(project, arg, nil); (err == nil) != found || found && e.Name != dated {
			t.Errorf("%q: %s, %v, want found: %v", arg, e.Name, err, found)
		}
	}
	if err := os.RemoveAll(session.Dir(project) + "/" + dated); err != nil {
		t.Fatal(err)
	}
	only := func(e session.Entry) bool { return e.Name == alpine.Name() }
	for _, arg := range []string{"", "7", "#7", "acme/app#7", "al"} {
		if e, err := session.Find(project, arg, only); err != nil || e.Name != "alpine" {
			t.Errorf("%q of those a command can apply to: %s, %v", arg, e.Name, err)
		}
	}
	if _, err := session.Find(t.TempDir(), "", nil); err == nil {
		t.Error("found a session in an empty project")
	}
}

func badArtifacts(t *testing.T) {
	s := fresh(t)
	if err := s.EnsureDirs("02_architecting"); err != nil {
		t.Fatal(err)
	}
	rel := "02_architecting/architecture.md"
	contents := map[string]string{
		"is larger than 1 MiB": strings.Repeat("a", 2<<20),
		"holds a NUL byte":     "a\x00",
		"is not valid UTF-8":   "caf\xe9",
		"is empty":             " \n\t",
	}
	for problem, content := range contents {
		write(t, s.Path(rel), content)
		a, err := s.ReadArtifact(rel, duty.ArtifactText)
		if err != nil || len(a.Problems) != 1 || !strings.Contains(a.Problems[0], problem) {
			t.Errorf("%s: %+v, %v", problem, a, err)
		}
	}
	os.Remove(s.Path(rel))
	if a, err := s.ReadArtifact(rel, duty.ArtifactText); err != nil || !strings.Contains(a.Problems[0], "does not exist") {
		t.Errorf("missing: %+v, %v", a, err)
	}
	if err := os.Symlink(s.Path("requirements.md"), s.Path(rel)); err != nil {
		t.Fatal(err)
	}
	if a, err := s.ReadArtifact(rel, duty.ArtifactText); err != nil || !strings.Contains(a.Problems[0], "symbolic link") {
		t.Errorf("symbolic link: %+v, %v", a, err)
	}
	os.Remove(s.Path(rel))
	write(t, s.Path(rel), "\ufeff# Fine\r\n")
	a, err := s.ReadArtifact(rel, duty.ArtifactText)
	if err != nil || len(a.Problems) > 0 {
		t.Fatalf("good file: %+v, %v", a, err)
	}
	if kept, err := s.Blob(a.SHA256); err != nil || string(kept) != "# Fine\r\n" {
		t.Errorf("kept %q, %v", kept, err)
	}
}

// A killed host leaves no lock, even while a child of it lives.
func TestProtocolD3AKilledHostLeavesNoLock(t *testing.T) {
	if dir := os.Getenv("SESSION_TEST_HOLD"); dir != "" {
		holdLock(dir)
		return
	}
	s := fresh(t)
	s.Release()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestProtocolD3AKilledHostLeavesNoLock$")
	cmd.Env = append(os.Environ(), "SESSION_TEST_HOLD="+s.Dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var child int
	if err := json.NewDecoder(out).Decode(&child); err != nil {
		t.Fatal(err)
	}
	if !session.Running(s.Dir) {
		t.Error("the holder's lock is not seen")
	}
	cmd.Process.Kill()
	cmd.Wait()
	if p, err := os.FindProcess(child); err == nil {
		defer p.Kill()
	}
	if err := s.Lock(0); err != nil {
		t.Errorf("lock after kill -9: %v", err)
	}
}

func holdLock(dir string) {
	s, err := session.Open(dir)
	if err != nil {
		os.Exit(3)
	}
	if err := s.Lock(0); err != nil {
		os.Exit(3)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		os.Exit(3)
	}
	if err := json.NewEncoder(os.Stdout).Encode(child.Process.Pid); err != nil {
		os.Exit(3)
	}
	child.Wait()
}
