//go:build crash

package claim_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// processVariable holds what a killed process is to do.
const processVariable = "AGENTMUX_CLAIM_PROCESS"

// process is a host in a process of its own, with the session directory Dir.
type process struct {
	URL, Token, Home, Dir string
	Steal                 bool // issue 12 was handed over by another host
	HandOver              bool // at the end, instead of a release
	Log, At               string
}

// TestHostProcess is that process: the whole life of a claim.
func TestHostProcess(t *testing.T) {
	var p process
	if os.Getenv(processVariable) == "" {
		t.Skip("not a process of its own")
	}
	if err := json.Unmarshal([]byte(os.Getenv(processVariable)), &p); err != nil {
		t.Fatal(err)
	}
	if err := crash.Arm(p.Log, p.At); err != nil {
		t.Fatal(err)
	}
	if err := p.live(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (p process) live(ctx context.Context) error {
	note := claim.Note{Host: claim.NewHostID()}
	if err := note.Write(p.Dir); err != nil {
		return err
	}
	store, err := claim.OpenStore(ctx, p.Home)
	if err != nil {
		return err
	}
	repo := remote.Repository{URL: p.URL, Secret: func(context.Context) (string, error) { return p.Token, nil }}
	c := newClock()
	desk := claim.NewRemote(claim.Options{Repo: repo, Store: store, RepoID: repoID, Host: note.Host, OneSession: true, Clock: c.Clock()})
	var held claim.Held
	if p.Steal {
		all, err := desk.Look(ctx)
		if err != nil {
			return err
		}
		held, err = desk.Steal(ctx, all[0], want(12, claim.Queued))
		if err != nil {
			return err
		}
	} else if held, err = desk.Take(ctx, want(12, claim.Queued)); err != nil {
		return err
	}
	noted := func() error {
		note.Claims = []claim.NoteClaim{claim.NoteOf(held.Seen())}
		return note.Write(p.Dir)
	}
	steps := []func() error{
		noted,
		func() error { return held.Mark(ctx, claim.Running) },
		noted,
		func() error { return held.Check(ctx) },
		func() error { c.pass(5 * time.Minute); return desk.Beat(ctx) }, // late: the claim is renewed
		func() error {
			if p.HandOver {
				return held.Mark(ctx, claim.Handover)
			}
			return held.Release(ctx)
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// TestCrashClaim kills a host at each crash point in the life of a claim. Whenever it was, one
// host at most has the issue, and the next process of the session ends with it released.
// AGENTMUX_CRASH_STRIDE takes only each n-th point.
func TestCrashClaim(t *testing.T) {
	stride, err := strconv.Atoi(os.Getenv("AGENTMUX_CRASH_STRIDE"))
	if err != nil || stride < 1 {
		stride = 1
	}
	for name, p := range map[string]process{"take": {}, "steal": {Steal: true}, "hand over": {HandOver: true}} {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "points")
			p.killed(t, log, "")
			data, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			points := strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(data)), " ", "_"))
			if len(points) < 20 {
				t.Fatalf("only %d points are passed: %q", len(points), points)
			}
			for i := 0; i < len(points); i += stride {
				at := strings.ReplaceAll(points[i], "_", " ")
				t.Run(at, func(t *testing.T) { p.killed(t, os.DevNull, at) })
			}
		})
	}
}

// killed has the process live until it passes a point, and then the next one.
func (p process) killed(t *testing.T, log, at string) {
	t.Helper()
	w := newWorld(t)
	if p.Steal {
		if err := w.take(w.host(), 12, claim.Running).Mark(t.Context(), claim.Handover); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "sessions", "s") // the same at each run, as the names of points have its end
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.URL, p.Token, p.Home, p.Dir, p.Log, p.At = w.CloneURL(widgets), w.Token("bot"), w.home, dir, log, at
	spec, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestHostProcess$")
	cmd.Env = append(os.Environ(), processVariable+"="+string(spec))
	if out, err := cmd.CombinedOutput(); (err != nil) != (at != "") || err != nil && err.Error() != "signal: killed" {
		t.Fatalf("the host ended: %v\n%s", err, out)
	}
	other := w.intrude(t)
	w.resume(t, p, other)
	if left := w.ref("claims/12"); left != "" {
		t.Errorf("the claim is left at %s", left)
	}
}

// intrude lets another host try to get the issue before the next process of the session begins.
func (w *world) intrude(t *testing.T) claim.Held {
	t.Helper()
	h := w.host()
	seen := w.find(h, 12)
	held, err := h.Take(t.Context(), want(12, claim.Running))
	if taken := errors.As(err, new(*claim.TakenError)); taken != (seen.ID != "") || err != nil && !taken {
		t.Fatalf("another host, which sees %+v: %v", seen, err)
	}
	return held
}

// resume is the next process of the session: it adopts the claim that it has, or claims
// the issue again, and releases it.
func (w *world) resume(t *testing.T, p process, other claim.Held) {
	t.Helper()
	note, err := claim.ReadNote(p.Dir)
	if errors.Is(err, fs.ErrNotExist) { // it was killed before anything was pushed
		note.Host, err = claim.NewHostID(), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	h := w.host(as(note.Host), func(o *claim.Options) { o.OneSession = true })
	left, err := h.Leftovers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if other != nil {
		if len(left) > 0 {
			t.Errorf("two hosts have the issue: %+v", left)
		}
		if err := errors.Join(other.Check(t.Context()), other.Release(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	var held claim.Held
	if len(left) > 0 {
		held, err = h.Adopt(left[0])
	} else if held, err = h.Take(t.Context(), want(12, claim.Running)); errors.As(err, new(*claim.TakenError)) {
		held, err = h.Steal(t.Context(), w.find(h, 12), want(12, claim.Running)) // it was handed over
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(held.Check(t.Context()), h.Beat(t.Context()), held.Check(t.Context()), held.Release(t.Context())); err != nil {
		t.Fatal(err)
	}
	if beat := w.ref("hosts/" + h.id.String()); beat != "" {
		t.Errorf("the beat is left at %s", beat)
	}
}
