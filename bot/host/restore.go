package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/restore"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/bot/work"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/crash"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
)

// Elsewhere is what a host does with sessions that are on other machines, too.
type Elsewhere struct{ *Host }

// RestoreSpec says which session of another machine to continue here.
type RestoreSpec struct {
	Project  *project.Project
	Config   *config.Config
	Root     string       // directory that the session is made in; empty = the project's root
	Session  string       // its name on the server, as the claim has it
	Issue    int          // its issue, as the claim has it
	Team     *Team        // of a run of an agents file, instead of the issue
	Host     claim.HostID // of this host, which holds the claim
	Repo     ghsync.Repo  // of the issue
	Attended bool         // a person at a terminal restores it
	Overtake bool         // puts a directory aside that the session has here already
}

// Restore makes the directory of a session from its checkpoint on the server and returns it. The next Run of it
// makes its workspaces again and continues where the checkpoint was made. The error is checkpoint.ErrNone,
// *checkpoint.RefusedError, restore.ErrThere or *work.GoneError, or says why that could not be done.
func (h Elsewhere) Restore(ctx context.Context, spec RestoreSpec) (dir string, err error) {
	p := spec.Project
	f, err := h.Fetch(ctx, spec)
	if err != nil {
		return "", err
	}
	crash.Point("fetch checkpoint", "")
	if _, err := p.Store.Resolve(ctx, f.Base); errors.Is(err, gitrepo.ErrNoCommit) {
		return "", &work.GoneError{Session: spec.Session, What: "base commit", Commit: f.Base, Repo: p.Store.Dir(), Issue: spec.Issue}
	} else if err != nil {
		return "", err
	}
	files, err := p.Files(ctx, f.Base)
	if err != nil {
		return "", err
	}
	root := cmp.Or(spec.Root, p.Clone.Root)
	if err = h.exclude(ctx, root, p); err != nil {
		return "", err
	}
	tried := "" // the identity of a session that is not here, for which something may be reserved
	dir, err = restore.Publish(restore.Spec{Project: root, From: f, Base: files, Agents: spec.Team.files(), Host: spec.Host, Attended: spec.Attended, Now: h.Now(), Prefix: spec.Config.GitHub.BranchPrefix, Note: func(s *orchestrator.State, dir string) error {
		_, absent := os.Lstat(dir)
		if absent != nil {
			tried = s.Identity
		}
		// This is known before anything of the session here is put aside.
		if spec.Team != nil {
			if err := roster.Reserve(h.register(), p, spec.Team.Agents, s.Identity); err != nil {
				return err
			}
		}
		for _, branch := range restore.Branches(s) {
			if free, err := h.register().Reserve(p.Store.Dir(), branch, s.Identity); err != nil || !free {
				return cmp.Or[error](err, &checkpoint.RefusedError{Session: spec.Session, Ref: gitrepo.FetchedRef(spec.Session), Problems: []string{fmt.Sprintf("its branch %s is of another session here", branch)}})
			}
		}
		if absent == nil {
			if !spec.Overtake {
				return restore.ErrThere
			}
			if err := h.overtaken(ctx, dir, spec.Config); err != nil {
				return err
			}
		}
		return h.register().Write(register.Note{ID: s.Identity, Secret: s.Noted, Path: dir})
	}})
	return dir, cmp.Or(err, h.register().GiveBack(tried))
}

// Fetch fetches the checkpoint that Restore makes a session from.
func (h Elsewhere) Fetch(ctx context.Context, spec RestoreSpec) (*checkpoint.Fetched, error) {
	if spec.Project.Remote == nil {
		return nil, checkpoint.ErrNone
	}
	// The base does not come along: the checkpoint is made of what differs from it.
	base, err := spec.Project.Base(ctx, spec.Config, "")
	if err != nil {
		return nil, err
	}
	want := checkpoint.Wanted{Session: spec.Session, Issue: spec.Issue, Keeps: session.Keeps, Within: base.SHA, Of: project.IsNamed(h.GitHub, spec.Repo)}
	return checkpoint.Fetch(ctx, spec.Project.Store, *spec.Project.Remote, spec.Team.wants(want, h.Host, spec))
}

// Saved returns what reports whether a session, by its name on the server of a project, has a checkpoint there.
func (h Elsewhere) Saved(p *project.Project) func(ctx context.Context, name string) (bool, error) {
	return func(ctx context.Context, name string) (bool, error) {
		if p.Remote == nil {
			return false, nil
		}
		names, err := checkpoint.Names(ctx, p.Store, *p.Remote)
		return slices.Contains(names, name), err
	}
}

// read returns the state of the session in dir, and its project. A damaged one may be about to be replaced by its backup.
func (h Elsewhere) read(ctx context.Context, dir string, c *config.Config) (s *orchestrator.State, p *project.Project, err error) {
	sess, err := session.Open(dir)
	if err == nil {
		s, err = sess.ReadState()
	}
	if errors.As(err, new(*session.CorruptError)) {
		s, err = sess.ReadBackup()
	}
	if err != nil {
		return nil, nil, err
	}
	p, err = h.projectOf(ctx, sess, c)
	return s, p, err
}

// Forget removes the checkpoint of a session from the server, unless another host went on with the session.
func (h Elsewhere) Forget(ctx context.Context, dir string, c *config.Config) error {
	s, p, err := h.read(ctx, dir, c)
	if err != nil || p.Remote == nil || h.Token == nil || h.ReadOnly {
		return err
	}
	return checkpoint.Remove(ctx, p.Store, *p.Remote, orchestrator.PublicID(s.SessionID, s.Identity), restore.Pushed(dir))
}

// Preserved lists the refs that hold work of the session in dir, also of one that was put aside.
func (h Elsewhere) Preserved(ctx context.Context, dir string, c *config.Config) (work.Removed, error) {
	sess, err := session.Open(dir)
	if err != nil {
		return work.Removed{}, err
	}
	s, p, err := h.read(ctx, dir, c)
	if err != nil {
		return work.Removed{}, err
	}
	return h.gather(work.Spec{Session: sess, State: s, Config: c, Project: p}, nil, guarding{}).work.Preserved(ctx)
}

// Continue is Restore for a host that no person started: a directory that an earlier process restored is returned unless
// the session went on elsewhere since; any other one that it has here is put aside. refused says why the session cannot be continued.
func (h Elsewhere) Continue(ctx context.Context, spec RestoreSpec) (dir, refused string, err error) {
	if dir, owed := restore.Owed(cmp.Or(spec.Root, spec.Project.Clone.Root), spec.Session); owed {
		last, err := claim.ReadNote(dir)
		if err == nil {
			err = h.Newer(dir, spec.Config)(ctx, last)
		}
		if !errors.As(err, new(*checkpoint.OtherHostError)) {
			return dir, "", err
		} // else another host went on with it while this one was away
	}
	spec.Overtake = true
	dir, err = h.Restore(ctx, spec)
	if errors.Is(err, checkpoint.ErrNone) || errors.As(err, new(*checkpoint.RefusedError)) || errors.As(err, new(*work.GoneError)) {
		return "", err.Error(), nil
	}
	return dir, "", err
}

// Newer returns what fails with a *checkpoint.OtherHostError if the checkpoint on the server of the session in dir is
// of another host, so that the session went on elsewhere. last is what this machine knows of its claims.
func (h Elsewhere) Newer(dir string, c *config.Config) func(ctx context.Context, last claim.Note) error {
	return func(ctx context.Context, last claim.Note) error {
		s, p, err := h.read(ctx, dir, c)
		if err != nil || p.Remote == nil || last.Host == "" { // without a host it never ran under a claim
			return err
		}
		own := checkpoint.Away{Host: last.Host.String(), Last: last.Checkpoint}
		return own.Newer(ctx, p.Store, *p.Remote, orchestrator.PublicID(s.SessionID, s.Identity))
	}
}

// overtaken puts a session aside that went on elsewhere: its agents are ended, its unsubmitted work is kept below
// refs/agentmux/preserved, and its directory is renamed. The error is *session.LockedError if a host runs it.
func (h Elsewhere) overtaken(ctx context.Context, dir string, c *config.Config) (err error) {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	if err := sess.Lock(0); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sess.Close()) }()
	s, err := sess.ReadState()
	if err != nil {
		return err
	}
	if err := h.Trust(ctx, sess.Dir, s, c); err != nil {
		return err
	}
	p, err := h.projectOf(ctx, sess, c)
	if err != nil {
		return err
	}
	r := h.gather(work.Spec{Session: sess, State: s, Config: c, Project: p}, nil, guarding{})
	for _, step := range []func() error{
		func() error { return r.crew.Open(s) },
		func() error { return r.crew.EndLaunches(ctx, s) },
		func() error { return r.work.KeepWorkspaces(ctx, s) },
		func() error { return r.crew.RemoveServer(ctx) },
		func() error { return r.work.DropPlaces(s) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("put %s aside: %w", sess.Name(), err)
		}
	}
	for n := 1; ; n++ {
		aside := fmt.Sprint(sess.Dir, session.OvertakenMark, n)
		if _, err := os.Lstat(aside); errors.Is(err, os.ErrNotExist) {
			h.Log.Info("an overtaken session is put aside", "session", sess.Name(), "dir", aside)
			return os.Rename(sess.Dir, aside)
		}
	}
}

// moved makes again what a restored session needs here, and says where it is.
func (r *runner) moved(ctx context.Context, spec RunSpec, settings orchestrator.Settings) (*orchestrator.Move, error) {
	s, note := r.state.Load(), spec.restored
	m := note.Move(r.sess.Dir)
	m.Settings, m.Asked = settings, spec.asked
	for name, tree := range note.Work {
		w, ok := s.Workspaces[name]
		if !ok {
			continue // its agent was done with it when the state was written
		}
		dir, err := r.work.Restore(ctx, orchestrator.Args{Workspace: name, Visit: s.Visit, Base: w.Base, Tree: tree, Sources: duty.Branches(r.def, s, name)})
		if err == nil {
			err = r.crew.SetUp(ctx, dir)
		}
		if err != nil {
			return nil, err
		}
		m.Work[name] = orchestrator.Moved{Path: dir, Tree: tree}
	}
	if err := r.work.RecordedRefs(ctx, s); err != nil || r.def.Team == nil || r.project.Managed {
		return m, err
	}
	return m, roster.Bring(ctx, r.project, s, r.Log)
}
