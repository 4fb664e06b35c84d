package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/crew"
	"github.com/agentmux/agentmux/bot/material"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/session/register"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/message"
)

// PrepareSpec says what session to make.
type PrepareSpec struct {
	Project *project.Project
	Config  *config.Config
	// Files are the project's own definitions and prompts: its directory as it is on
	// disk, or its base commit. Source says which, as "working tree" or a commit.
	Files  fs.FS
	Source string
	Base   project.Base

	Name     string // given by a person; empty = derived from Source
	Title    string // what the name is derived from: a prompt, a file's stem, an issue's title
	Request  string // what to do; for an issue it may be empty
	Workflow string // empty = the configured one
	Agents   []byte // an agents file, in place of a workflow; nil = none
	// Issues are the texts of those that agents of the file work for, by name.
	Issues map[string]*ghsync.Snapshot
	// Tips are the commits at which agents of the file begin whose branches are there, by name.
	Tips   map[string]string
	Routes message.Rows // which of them may write what to whom; none = all to all

	ProductManager bool
	Interactive    bool
	Mirror         bool             // show the session on its issue
	Quiet          bool             // write nothing there, nor read its comments
	Trigger        string           // empty = cli/<session id>
	Snapshot       *ghsync.Snapshot // of the issue, nil without one
	Repo           ghsync.Repo      // of the issue; empty = the project's
	Locked         bool             // the issue is locked, so that questions cannot be answered there

	// Identity and MirrorState are those of the ticket that the session is made from, which then
	// has its Name, too. Empty without one.
	Identity    string
	MirrorState []byte

	Dir string // the project, if it is a directory below the clone's root; empty = the root

	// Unless may refuse the session right before it is made. Commands that set it take turns
	// in a project. May be nil.
	Unless func() error

	dir string // the session lies below it; empty = in the project
}

// Root returns the directory of the project that the session is made in.
func (spec PrepareSpec) Root() string { return cmp.Or(spec.Dir, spec.Project.Clone.Root) }

// snapshots are the texts that the session keeps, by agent; under "" its own.
func (spec PrepareSpec) snapshots() map[string]*ghsync.Snapshot {
	if spec.Snapshot == nil {
		return spec.Issues
	}
	return map[string]*ghsync.Snapshot{"": spec.Snapshot}
}

// ErrProductManager says that a workflow has no phase for the product manager.
var ErrProductManager = errors.New("this workflow has no phase for a product manager; leave --product-manager out, or choose another with --workflow")

// Prepare makes a session directory and returns it with its lock held. Nothing runs yet.
// Errors of the workflow are *document.Error; ErrBlankRequest and *NameError of package
// session are what the caller can correct.
func (h *Host) Prepare(ctx context.Context, spec PrepareSpec) (*session.Session, error) {
	name := cmp.Or(spec.Workflow, spec.Config.Defaults.Workflow)
	def, data, err := definitionOf(spec, name)
	if err != nil {
		return nil, err
	}
	if spec.ProductManager && !hasProductManager(def) {
		return nil, fmt.Errorf("%s: %w", name, ErrProductManager)
	}
	if err := h.Preflight(ctx, spec.Config, def, spec.Interactive); err != nil {
		return nil, err
	}
	if err := h.admit(spec, def); err != nil {
		return nil, err
	}
	files, blobs, err := material.Keep(spec.snapshots())
	if err != nil {
		return nil, err
	}
	if spec.MirrorState != nil {
		files[session.MirrorFile] = spec.MirrorState
	}
	create := session.CreateSpec{
		Project: cmp.Or(spec.dir, spec.Root()), Now: h.Now(), Name: spec.Name, Source: spec.Title, Request: spec.Request,
		Definition: data, Agents: spec.Agents, BranchPrefix: spec.Config.GitHub.BranchPrefix, State: h.firstState(spec, def), Files: files, Unless: spec.Unless,
	}
	var tried []string // identities, for which something may be reserved
	create.Branch = func(branch, identity string) (bool, error) {
		tried = append(tried, identity)
		return h.freeBranch(ctx, spec, branch, identity)
	}
	create.State.Team = roster.Progress(spec.Base.SHA, spec.Tips, blobs)
	if spec.dir == "" {
		create.Note = func(identity, secret, dir string) error {
			return h.register().Write(register.Note{ID: identity, Secret: secret, Path: dir})
		}
	}
	if spec.Snapshot != nil {
		create.Request = cmp.Or(strings.TrimSpace(spec.Request), "") + material.IssueText(spec.Snapshot)
		create.Source = spec.Snapshot.Title.String()
	}
	if err := h.exclude(ctx, create.Project, spec.Project); err != nil {
		return nil, err
	}
	sess, err := session.Create(create)
	if err := h.register().GiveBack(tried...); err != nil {
		h.Log.Warn("the branches of a session that was not made are reserved until this process ends, a minute at most", "err", err)
	}
	return sess, err
}

// definitionOf returns the definition of a session to be made, and the bytes that it keeps of a
// workflow.
func definitionOf(spec PrepareSpec, name string) (*workflows.Definition, []byte, error) {
	if len(spec.Agents) > 0 {
		def, err := workflows.ParseTeam(session.AgentsFile, spec.Agents)
		return def, nil, err
	}
	def, data, problems := workflows.Load(name, spec.Files)
	return def, data, problems.Err()
}

// exclude makes the person's clone ignore the files that are never committed, unless the
// repository's .agentmux/.gitignore does.
func (h *Host) exclude(ctx context.Context, dir string, p *project.Project) error {
	if p.Managed || session.Ignored(dir) {
		return nil
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	below, err := filepath.Rel(p.Clone.Root, session.UnsharedDir(dir))
	if err != nil || !filepath.IsLocal(below) {
		return nil // the directory of sessions has a .gitignore of its own, too
	}
	var paths []string
	for _, name := range session.Unshared() {
		paths = append(paths, filepath.ToSlash(below)+"/"+name)
	}
	if err := clone.Exclude(ctx, p.Clone.Root, paths...); err != nil {
		h.Log.Warn("the clone does not ignore the sessions of agentmux", "err", err)
	}
	return ctx.Err()
}

func hasProductManager(def *workflows.Definition) bool {
	return slices.ContainsFunc(def.Phases, func(p workflows.Phase) bool { return slices.Contains(p.When, workflows.ConditionProductManager) })
}

// firstState is the part of the first state that does not depend on name and time.
func (h *Host) firstState(spec PrepareSpec, def *workflows.Definition) orchestrator.State {
	available := h.GitHub != nil && spec.Project.GitHub
	kind := orchestrator.KindPipeline
	if def.Team != nil {
		kind = orchestrator.KindAgents
	}
	s := orchestrator.State{
		Kind: kind, Workflow: def.Name, ProductManager: spec.ProductManager,
		GHAvailable: &available, BaseBranch: spec.Base.Branch, BaseSHA: spec.Base.SHA, ConfigSource: spec.Source,
		Trigger: orchestrator.Optional(spec.Trigger), Interactive: spec.Interactive, Mirror: spec.Mirror, Quiet: spec.Quiet,
		Settings: h.settings(spec.Config, kind, spec.Interactive || spec.Snapshot != nil && !spec.Locked || spec.Mirror && len(spec.Issues) > 0), Identity: spec.Identity,
	}
	s.Settings.Msg.Rows = spec.Routes
	if spec.Project.GitHub {
		s.Repo = orchestrator.Optional(spec.Project.Repo.String())
	}
	if spec.Snapshot != nil {
		s.IssueNumber, s.IssueTitle = spec.Snapshot.Issue, orchestrator.Optional(spec.Snapshot.Title.String())
		s.Repo = orchestrator.Optional(cmp.Or(spec.Snapshot.Repo, string(s.Repo)))
	}
	return s
}

// freeBranch reports whether the session can have a branch, and reserves it. The error is a
// *clone.ExportError if the branch is to be made in the clone at the end and cannot be.
func (h *Host) freeBranch(ctx context.Context, spec PrepareSpec, branch, identity string) (bool, error) {
	p := spec.Project
	if spec.Project.BranchTaken(ctx, branch) {
		return false, nil
	}
	if !p.Managed && (p.Remote == nil || h.Token == nil || h.ReadOnly || !spec.Config.GitHub.Push) {
		if err := clone.InTheWay(ctx, p.Clone.Root, branch); err != nil {
			return false, err
		}
	}
	if spec.dir != "" {
		return true, nil
	}
	if len(spec.Agents) > 0 {
		def, _, err := definitionOf(spec, "")
		if err == nil {
			err = roster.Reserve(h.register(), p, def.Team, identity)
		}
		if err != nil {
			return false, err
		}
	}
	return h.register().Reserve(p.Store.Dir(), branch, identity)
}

// PreflightError lists what keeps the agents of a run from starting.
type PreflightError struct{ Problems []string }

// Error is one problem per line.
func (e *PreflightError) Error() string { return strings.Join(e.Problems, "\n") }

// Preflight checks, before anything is made, that every program the workflow needs is
// there, knows what it is started with, can log in, and may act as the configuration says.
func (h *Host) Preflight(ctx context.Context, c *config.Config, def *workflows.Definition, interactive bool) error {
	providers, err := Providers(c)
	if err != nil {
		return err
	}
	box := crew.NewSandbox(h.crewOptions(), c)
	var found []string
	seen := map[string]bool{}
	for _, name := range providersOf(c, def) {
		if seen[name] {
			continue
		}
		seen[name] = true
		p, ok := providers[name]
		if !ok {
			found = append(found, fmt.Sprintf("provider %s is not configured", name))
			continue
		}
		found = append(found, box.Preflight(ctx, p, interactive)...)
	}
	found = append(found, box.Problems()...)
	if len(found) > 0 {
		return &PreflightError{Problems: found}
	}
	return nil
}

// Sandbox returns the level of the sandbox for a configuration and the variables of a host, and in a few words
// what it means.
func Sandbox(c *config.Config, environ func(string) (string, bool)) (level, words string) {
	return crew.NewSandbox(crew.Options{Environ: environ}, c).Describe()
}

// Unsandboxed reports whether agents get what the person has: the level of the sandbox is none.
func (h *Host) Unsandboxed(c *config.Config) bool {
	return crew.NewSandbox(h.crewOptions(), c).Level() == crew.LevelNone
}

// admit fails for a ticket none of whose agents could start, because all providers refuse more for now: it
// waits in the queue. What a person begins waits for them by itself.
func (h *Host) admit(spec PrepareSpec, def *workflows.Definition) error {
	if spec.Identity == "" {
		return nil
	}
	providers, err := Providers(spec.Config)
	if err != nil {
		return err
	}
	names := append(providersOf(spec.Config, def), spec.Config.Fallbacks(def.Roles())...)
	if cooling := crew.NewSandbox(h.crewOptions(), spec.Config).Cooling(providers, names, spec.Interactive); cooling != nil {
		return &PreflightError{Problems: cooling}
	}
	return nil
}

// providersOf lists the providers that a run may start.
func providersOf(c *config.Config, def *workflows.Definition) []string {
	var names []string
	for _, role := range def.Roles() {
		names = append(names, c.Choose(role).Provider)
	}
	if def.Team != nil {
		for _, a := range def.Team.Agents {
			names = append(names, cmp.Or(a.Provider, c.Choose(a.Role).Provider))
		}
	}
	return names
}
