package host_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

// parked returns a session that waits for a person, with its work integrated.
func (r *rig) parked() string {
	r.t.Helper()
	sc := simple()
	sc.Verdict = map[string][]string{"reviewer_logic": {"fail"}}
	r.script(sc)
	dir := r.prepare(func(spec *host.PrepareSpec) { spec.Workflow, spec.Name = "quick", "forged" })
	mustEnd(r.t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeNeedsHuman, orchestrator.ReasonReviewExhausted)
	more := simple()
	more.Files = map[string][]string{"1": {"b.txt=more"}}
	r.script(more)
	return dir
}

// edit changes the text of a file.
func (r *rig) edit(file string, oldnew ...string) {
	r.t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(unsealed(strings.NewReplacer(oldnew...).Replace(string(data)))), 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// refused fails unless neither a run nor a removal takes the session, for the reason, and its
// files stay as they are.
func (r *rig) refused(dir string, want register.Reason) {
	r.t.Helper()
	before, _ := os.ReadFile(filepath.Join(dir, session.StateFile))
	runs := map[string]func(context.Context) error{
		"run": func(ctx context.Context) error {
			_, err := r.host.Run(ctx, host.RunSpec{Dir: dir, Config: r.config})
			return err
		},
		"resume": func(ctx context.Context) error {
			_, err := r.host.Run(ctx, host.RunSpec{Dir: dir, Config: r.config, Resume: true})
			return err
		},
		"backup": func(ctx context.Context) error {
			_, err := r.host.Run(ctx, host.RunSpec{Dir: dir, Config: r.config, Resume: true, Backup: true})
			return err
		},
		"clean": func(ctx context.Context) error { _, err := r.host.Remove(ctx, dir, r.config); return err },
	}
	for what, run := range runs {
		var foreign *register.ForeignError
		if err := run(r.t.Context()); !errors.As(err, &foreign) || foreign.Reason != want || !strings.Contains(err.Error(), "forged") {
			r.t.Errorf("%s: %v, want a session that is %s", what, err, want)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, session.StateFile)); err != nil || string(after) != string(before) {
		r.t.Errorf("the state of a refused session was changed: %v", err)
	}
}

// TestSecurity27ASessionFromElsewhereIsNotBelieved has directories of sessions that no command
// of this machine made.
func TestSecurity27ASessionFromElsewhereIsNotBelieved(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	for name, forge := range map[string]struct {
		do   func(r *rig, dir string) string
		want register.Reason
	}{
		"committed": {func(r *rig, dir string) string {
			r.git("add", "--force", dir)
			return dir
		}, register.Tracked},
		"unknown": {func(r *rig, dir string) string {
			r.edit(filepath.Join(dir, session.StateFile), r.state(dir).Identity, "0123456789abcdef")
			r.edit(filepath.Join(dir, session.StateBackup), r.state(dir).Identity, "0123456789abcdef")
			r.edit(filepath.Join(dir, session.StateBackup), strings.TrimSuffix(filepath.Base(r.made()), ".json"), "0123456789abcdef")
			return dir
		}, register.Unknown},
		"without the secret": {func(r *rig, dir string) string {
			secret := r.state(dir).Noted
			for _, file := range []string{session.StateFile, session.StateBackup} {
				r.edit(filepath.Join(dir, file), secret, strings.Repeat("0", len(secret)))
			}
			return dir
		}, register.Forged},
		"without identity": {func(r *rig, dir string) string {
			s := r.state(dir)
			for _, file := range []string{session.StateFile, session.StateBackup} {
				r.edit(filepath.Join(dir, file), "  \"identity\": \""+s.Identity+"\",\n", "", "  \"noted\": \""+s.Noted+"\",\n", "")
			}
			return dir
		}, register.Unknown},
		"a copy": {func(r *rig, dir string) string {
			copied := filepath.Join(filepath.Dir(dir), "forged-too")
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				r.t.Fatal(err)
			}
			return copied
		}, register.Copy},
		"behind a link": {func(r *rig, dir string) string {
			away := filepath.Join(r.root, "away")
			if err := os.Rename(dir, away); err != nil {
				r.t.Fatal(err)
			}
			if err := os.Symlink(away, dir); err != nil {
				r.t.Fatal(err)
			}
			return dir
		}, register.Link},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "")
			dir := forge.do(r, r.parked())
			r.refused(dir, forge.want)
			err := r.host.Adopt(t.Context(), dir, r.config)
			switch forge.want {
			case register.Tracked, register.Link:
				if err == nil {
					t.Fatal("it was taken over")
				}
			default:
				if err != nil {
					t.Fatal(err)
				}
				server := r.server(dir) // another than it had before
				t.Cleanup(func() { _ = server.KillServer(context.Background()) })
				r.pulled(dir)
				s := r.run(host.RunSpec{Dir: dir, Resume: true, Changes: "Write more."})
				mustEnd(t, s, orchestrator.OutcomeDone, "")
			}
		})
	}
}

// made is the only note of a session.
func (r *rig) made() string {
	r.t.Helper()
	found, _ := filepath.Glob(filepath.Join(r.root, "s", "made", "*.json"))
	if len(found) != 1 {
		r.t.Fatalf("notes of sessions: %q", found)
	}
	return found[0]
}

// TestSecurity27PathsOfAStateAreNotBelieved has them name a directory that is somebody else's,
// and a launch name a file.
func TestSecurity27PathsOfAStateAreNotBelieved(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	r.script(simple())
	dir := r.prepare(func(spec *host.PrepareSpec) { spec.Workflow, spec.Name = "quick", "forged" })
	mustEnd(t, r.run(host.RunSpec{Dir: dir}), orchestrator.OutcomeDone, "")
	victim := filepath.Join(r.root, "home", "forged", "view-x")
	key := filepath.Join(r.root, "home", "id")
	if err := os.MkdirAll(victim, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("key"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := r.state(dir)
	s.Workspaces["view/x"] = orchestrator.Workspace{Path: victim, Base: s.BaseSHA}
	s.Agents["coder/9"] = orchestrator.Agent{Launch: "2.coder.1.1"}
	r.writeState(dir, s)
	launch := filepath.Join(dir, session.LaunchesDir, "2.coder.1.1", "launch.json")
	before, err := os.ReadFile(launch)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(before), `"env_file": "`)
	old, _, _ := strings.Cut(rest, `"`)
	if old != "" {
		r.edit(launch, old, key)
	}
	if _, err := r.host.Remove(t.Context(), dir, r.config); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{victim, key} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("clean removed what the session's files named: %v", err)
		}
	}
}

// TestASessionMovesWithItsProject has the project, which no server knows, renamed while the
// session waits.
func TestASessionMovesWithItsProject(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, "")
	dir := r.parked()
	moved := filepath.Join(r.root, "elsewhere", "p")
	if err := os.MkdirAll(filepath.Dir(moved), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.project, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(r.root, "scenario.json"), filepath.Join(r.root, "elsewhere", "scenario.json")); err != nil {
		t.Fatal(err)
	}
	r.project = moved
	dir = filepath.Join(session.Dir(moved), filepath.Base(dir))
	r.pulled(dir)
	s := r.run(host.RunSpec{Dir: dir, Resume: true, Changes: "Write more."})
	mustEnd(t, s, orchestrator.OutcomeDone, "")
	if s.FeatureDir != dir {
		t.Errorf("the state has it in %s", s.FeatureDir)
	}
	text, err := os.ReadFile(filepath.Join(dir, session.ContextFile))
	if err != nil || !strings.Contains(string(text), dir) {
		t.Errorf("the agents are told of another place: %v\n%s", err, text)
	}
	if _, err := r.host.Remove(t.Context(), dir, r.config); err != nil {
		t.Fatal(err)
	}
}
