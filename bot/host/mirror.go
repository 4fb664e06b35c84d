package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/display"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// MirrorSpec says whether the session is shown on its issue.
type MirrorSpec struct {
	On bool
	// HostID is the name of this host in the status comment; empty = the one that this machine keeps.
	HostID string
	// Listened says that commands in comments are read while the session runs, ListenedAfter that
	// they are read when it has ended, too: the texts then ask for them.
	Listened, ListenedAfter bool

	Pace mirror.Pace
}

// startMirror shows the session until its display is finished, even if ctx ends before.
func (r *runner) startMirror(ctx context.Context, spec MirrorSpec) *display.Display {
	s := r.state.Load()
	if !spec.On || r.GitHub == nil || s.OutcomeReason == orchestrator.ReasonClaimLost {
		return &display.Display{}
	}
	if spec.HostID == "" {
		id, err := claim.KeptHostID(r.StateHome)
		if err != nil {
			r.Log.Warn("this host has no name", "session", r.sess.Name(), "err", err)
		}
		spec.HostID = id.String()
	}
	shown := r.unitMirrors(s, spec)
	if s.IssueNumber != 0 {
		shown = []mirror.Options{r.mirrorOptions(s, spec)}
	}
	return display.Start(ctx, display.Spec{Session: r.sess.Name(), Mirrors: shown, Away: r.Away, Log: r.Log})
}

// unitMirrors says how agents that work for issues are shown on them.
func (r *runner) unitMirrors(s *orchestrator.State, spec MirrorSpec) (all []mirror.Options) {
	for name, p := range s.Team {
		a := r.def.Team.Agent(name)
		if a == nil || a.Issue == 0 || p.Snapshot == "" {
			continue
		}
		snap, err := r.work.SnapshotOf(p.Snapshot)
		if err != nil {
			r.Log.Warn("an agent is not shown on its issue", "session", r.sess.Name(), "issue", a.Issue, "err", err)
			continue
		}
		o := r.mirrorOptions(s, spec)
		o.Issue, o.RepoID, o.Snapshot, o.Changes = a.Issue, snap.RepoID, &snap, nil
		o.Unit = &story.Unit{Agent: name, Issue: a.Issue, Branch: a.Branch}
		o.Notes = func() []string {
			return append(work.BaseNotes(snap.Base), fmt.Sprintf("Agent %s of the run %s, which has %d agents", name, s.SessionID, len(r.def.Team.Agents)))
		}
		all = append(all, o)
	}
	return all
}

// mirrorOptions says how a run, or its rehearsal, shows the session.
func (r *runner) mirrorOptions(s *orchestrator.State, spec MirrorSpec) mirror.Options {
	o := mirror.Options{
		Server: mirror.On(r.GitHub), Dir: r.sess.Dir, Mode: mirror.CommentMode(r.cfg.GitHub.Comments), Repo: r.work.PullRepo(s),
		Issue: s.IssueNumber, Label: r.cfg.Bot.Label, Host: spec.HostID, Sandbox: r.crew.Level(), LinkHosts: r.cfg.GitHub.LinkHosts,
		Deaf: !spec.Listened, DeafAfter: !spec.ListenedAfter, Guard: r.guarding.forMirror(), Redactor: r.Redactor, Log: r.Log, Now: r.GitHub.Now, Pace: spec.Pace,
	}
	_, _, o.Fleeting = claim.HostID(spec.HostID).Job()
	o.Pace.Write = cmp.Or(o.Pace.Write, r.cfg.GitHub.WriteEvery())
	o.Changes = r.gateChanges
	if snap, err := r.work.IssueSnapshot(); err == nil {
		o.RepoID = snap.RepoID
		o.Notes = func() []string { return work.BaseNotes(snap.Base) }
	}
	return o
}

// gateChanges lists what the open gate asks about; nothing if another gate is open by now.
func (r *runner) gateChanges(digest string) []string {
	s, err := r.sess.ReadState() // what is shown is committed, the state in memory follows
	if err != nil || s.Gate == nil || s.Gate.Name != orchestrator.GateCompletion || s.GateDigest() != digest {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	d, err := r.work.Difference(ctx, s, false)
	if err != nil {
		r.Log.Warn("what the gate asks about cannot be read", "session", r.sess.Name(), "err", err)
		return nil
	}
	held, _, err := d.Held(ctx)
	if err != nil {
		r.Log.Warn("what the gate holds cannot be read", "session", r.sess.Name(), "err", err)
	}
	lines := []string{d.String()}
	for _, stat := range d.Stats {
		line := stat.Path + " (binary)"
		if !stat.Binary {
			line = fmt.Sprintf("%s +%d -%d", stat.Path, stat.Added, stat.Removed)
		}
		if slices.Contains(held, stat.Path) {
			line += " (held: maintain permission approves it)"
		}
		lines = append(lines, line)
	}
	return lines
}
