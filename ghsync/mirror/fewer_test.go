package mirror_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/mirror"
)

// What the host does by itself after the agents is shown with its end, unless it takes longer than the pause between two
// edits. A gate there is shown as soon as any.
func TestTheLastPhaseIsShownWithItsEnd(t *testing.T) {
	const entered = `10:30 2 phase_entered {"phase":"completing","kind":"complete","reason":"passed"}`
	for name, c := range map[string]struct {
		then  []string // three seconds after the phase was entered
		after time.Duration
		want  string // what the edits since then say first
	}{
		"it ends":    {[]string{`10:31 2 done {"outcome":"done","commit":"","pr_url":"","seconds":9}`}, 4 * time.Second, "done"},
		"it lasts":   {nil, 9 * time.Second, "completing"},
		"not so far": {nil, 7 * time.Second, ""},
		"a gate":     {[]string{`10:31 2 gate_opened {"gate":"completion"}`}, 4 * time.Second, "waits"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sc := newScene(t, nil)
				sink := &paper{}
				m := sc.mirror(mirror.Options{Server: serverOf(sink)})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- m.Run(ctx) }()
				sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan","reason":"start"}`)
				m.Wake()
				<-time.After(time.Minute)
				synctest.Wait()
				before := sink.String()
				sc.play(entered)
				m.Wake()
				<-time.After(3 * time.Second)
				if len(c.then) > 0 {
					sc.play(c.then...)
					m.Wake()
				}
				<-time.After(c.after - 3*time.Second)
				synctest.Wait()
				var edits []string
				for _, part := range strings.Split(strings.TrimPrefix(sink.String(), before), "=== ") {
					if what, text, _ := strings.Cut(part, "\n"); strings.HasSuffix(what, "edited") {
						title, _, _ := strings.Cut(text, "\n")
						edits = append(edits, title)
					}
				}
				if c.want == "" && len(edits) > 0 || c.want != "" && (len(edits) != 1 || !strings.Contains(edits[0], c.want)) {
					t.Errorf("edits %q, want %q", edits, c.want)
				}
				cancel()
				<-done
			})
		})
	}
}

// cutShort is a server on which the old label cannot be removed for now.
type cutShort struct {
	*paper
	cut   bool
	reads int
}

func (s *cutShort) RemoveLabel(ctx context.Context, repo ghsync.Repo, issue int, name string) error {
	if s.cut {
		return errors.New("reset")
	}
	return s.paper.RemoveLabel(ctx, repo, issue, name)
}

func (s *cutShort) Issue(ctx context.Context, repo ghsync.Repo, n int) (ghsync.Issue, error) {
	s.reads++
	return s.paper.Issue(ctx, repo, n)
}

// What the next host is started for changes the label within a moment, as an answer does: the change that was cut short is not
// finished before that.
func TestALabelChangeThatWasCutShortWaitsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc := newScene(t, nil)
		s := &cutShort{paper: &paper{}, cut: true}
		sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan","reason":"start"}`)
		m := sc.mirror(mirror.Options{Server: serverOf(s)})
		if err := m.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		sc.play(`10:10 1 question_asked {"id":"q1","role":"planner","task":"","text":"Which?","options":["a","b"]}`)
		if err := m.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.cut = false
		before := s.String()
		next := sc.mirror(mirror.Options{Server: serverOf(s)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- next.Run(ctx) }()
		<-time.After(time.Second)
		synctest.Wait()
		sc.play(`10:20 1 question_answered {"id":"q1","actor":"mia","source":"issue"}`)
		next.Wake()
		<-time.After(5 * time.Second)
		synctest.Wait()
		if now := strings.TrimPrefix(s.String(), before); strings.Contains(now, "label agentmux:needs-human added") || !strings.Contains(now, "label agentmux:needs-human removed") {
			t.Errorf("written:\n%s", now)
		}
		cancel()
		<-done
	})
}

// The next host corrects a change of the label that was cut short, by what the server answers to adding the label that is due
// now: the issue is not read.
func TestGitHub42ALabelChangeThatWasCutShort(t *testing.T) {
	for name, c := range map[string]struct {
		then string
		want string
	}{
		"the same is due": {"", "agentmux:needs-human"},
		"another is due":  {`10:20 1 question_answered {"id":"q1","actor":"mia","source":"issue"}`, "agentmux:running"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, nil)
			s := &cutShort{paper: &paper{}}
			s.has = []string{"bug", "agentmux"}
			m := sc.mirror(mirror.Options{Server: serverOf(s), Pace: quickPace})
			sc.play(`10:06 1 phase_entered {"phase":"planning","kind":"plan","reason":"start"}`)
			if err := m.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.cut = true
			sc.play(`10:10 1 question_asked {"id":"q1","role":"planner","task":"","text":"Which?","options":["a","b"]}`)
			if err := m.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(s.has, " "), "agentmux:running agentmux:needs-human") {
				t.Fatalf("labels %q, want both", s.has)
			}
			s.cut = false
			if c.then != "" {
				sc.play(c.then)
			}
			next := sc.mirror(mirror.Options{Server: serverOf(s), Pace: quickPace})
			sc.finish(next)
			var state []string
			for _, l := range s.has {
				if strings.HasPrefix(l, "agentmux") && (len(state) == 0 || state[len(state)-1] != l) {
					state = append(state, l)
				}
			}
			if len(state) != 1 || state[0] != c.want || s.has[0] != "bug" || s.reads != 0 {
				t.Errorf("labels %q, want %s; the issue was read %d times", s.has, c.want, s.reads)
			}
		})
	}
}
