package start

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/bot/roster"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/doctor"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/hosting"
	"github.com/agentmux/agentmux/cmd/internal/hostlog"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/command"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/agents"
)

// AgentsOptions are those of agents start.
type AgentsOptions struct {
	File     string   // empty = agents.file of the configuration
	Only     []string // these agents, and those that they need; none = all
	OnlyNone bool     // Only was given, and empty
	Yes      bool     // ask nothing
	New      bool     // not the session of an earlier run, which is removed
	Headless bool
	// Checkpoint continues the run of another machine; Take takes its claims although it has not given them back.
	Checkpoint, Take bool
}

// mayAsk fails if the question before the start can be neither asked nor left out. It is looked at last: what else is wrong
// is said also where nothing can be asked.
func (o AgentsOptions) mayAsk(a *site.Finder) error {
	if o.Yes || a.Terminal {
		return nil
	}
	return exit.UsageText("there is no terminal to ask at; agentmux agents start --yes asks nothing")
}

// Agents starts the agents of an agents file, or continues their session. Everything that is
// wrong is said before anything is made.
func Agents(ctx context.Context, a *site.Finder, o AgentsOptions) error {
	if o.OnlyNone {
		return exit.UsageText("--only names no agent; leave it out to start all of them")
	}
	if err := doctor.CheckPrograms(ctx); err != nil {
		return err
	}
	s, err := a.Open(ctx, &hostlog.Log{Terminal: a.Err})
	if err != nil {
		return err
	}
	project, err := s.OpenProject(ctx, ownFile(o.File)...)
	if err != nil {
		return site.ExplainProject(err, s.Project)
	}
	team, err := readTeam(a, s, project, o)
	if err != nil {
		return err
	}
	s.Take = o.Take
	former, err := formerOf(s, team, o)
	switch {
	case err != nil:
		return err
	case o.Checkpoint || o.Take && former == nil && !o.New:
		err := movedHere(ctx, a, s, teamOf{project, team}, former, o)
		if o.Checkpoint || !errors.Is(err, checkpoint.ErrNone) {
			return err
		}
		a.Say("the server has no checkpoint of a run called %s: it begins here", team.Session)
	case former != nil && !o.New:
		return again(ctx, a, *former, team, o)
	}
	settleAutoAccept(a, s, team, o)
	f := &Options{Name: team.Session, Headless: o.Headless}
	p, err := planAgents(ctx, a, s, teamOf{project, team}, f)
	if err != nil {
		return err
	}
	var state *orchestrator.State
	if former != nil {
		state = former.State
	}
	problems, tips, err := host.CheckTeam(ctx, s.Host, p.spec, team, state)
	if err != nil {
		return site.ExplainRun(err)
	}
	routes, wrong := roster.Routes(s.Project, s.Config.Mesh, team, len(o.Only) > 0)
	if problems = append(problems, wrong...); len(problems) > 0 {
		if err := unbegun(s, team.Session, former); err != nil {
			return err // whose branches and directories these are
		}
		return exit.Usage(errors.New(strings.Join(problems, "\n")))
	}
	p.spec.Tips, p.spec.Routes = tips, routes
	if note := roster.SignalsNote(s.Project); note != "" {
		a.Say("%s", note)
	}
	if err := o.mayAsk(a); err != nil {
		return err
	}
	if err := settleTest(ctx, a, s, teamOf{project, team}, f); err != nil {
		return err
	}
	printTeam(a, p, team)
	if !o.Yes {
		if proceed, err := proceeds(ctx, a); err != nil || !proceed {
			return err
		}
	}
	return p.begin(ctx, a, s, former, f)
}

// begin makes the session that was planned and runs it. The former one, if there is one, is removed first, once the person
// has answered everything.
func (p *planned) begin(ctx context.Context, a *site.Finder, s *site.Site, former *session.Entry, f *Options) error {
	if err := p.ask(ctx, a, s); err != nil {
		return err
	}
	if err := unbegun(s, f.Name, former); err != nil {
		return err
	}
	if former != nil {
		if err := removeFormer(ctx, a, s, *former); err != nil {
			return err
		}
	}
	p.spec.Unless = func() error { return unbegun(s, f.Name, nil) }
	return p.run(ctx, a, s, f)
}

// unbegun fails if another command has made a session of that name, or has continued the former one, since that was looked
// for: a question may wait for its answer for long.
func unbegun(s *site.Site, name string, former *session.Entry) error {
	e, err := session.Find(s.Project, name, nil)
	switch {
	case err != nil || e.Name != name:
		return nil
	case former != nil && !e.Running && e.State != nil && e.State.Identity == former.State.Identity && host.Removable(e.State):
		return nil
	}
	return &exit.Error{Code: exit.Locked, Err: fmt.Errorf("another command has started %s meanwhile; agentmux attach %s", e.Name, e.Name)}
}

// formerOf returns the session of an earlier run of an agents file; nil if there is none. One that
// cannot be continued, or with --new not be removed, is an error.
func formerOf(s *site.Site, team *agents.Team, o AgentsOptions) (*session.Entry, error) {
	e, err := session.Find(s.Project, team.Session, nil)
	switch {
	case err != nil || e.Name != team.Session:
		return nil, nil
	case e.Running:
		return nil, atWork(e)
	case e.State == nil:
		return nil, e.Err
	case e.State.Kind != orchestrator.KindAgents:
		return nil, exit.Usage(fmt.Errorf("%s is the session of something else; give the file another session", e.Name))
	case o.New && !host.Removable(e.State):
		return nil, exit.Usage(fmt.Errorf("%s has not ended; agentmux agents start continues it, agentmux agents cleanup ends it", e.Name))
	}
	return &e, nil
}

// again continues the session of an agents file that was started before, with the agents that
// have no marker.
func again(ctx context.Context, a *site.Finder, e session.Entry, team *agents.Team, o AgentsOptions) error {
	frozen, err := os.ReadFile(filepath.Join(e.Dir, session.AgentsFile))
	if err != nil {
		return err
	}
	started, problems := agents.Parse(session.AgentsFile, frozen, agents.Known{})
	if err := problems.Err(); err != nil {
		return err
	}
	done := !slices.ContainsFunc(started.Agents, func(m agents.Agent) bool { return e.State.Team[m.Name].Status(true) != agents.Done })
	left := slices.ContainsFunc(started.Agents, func(m agents.Agent) bool { return e.State.Team[m.Name].Marker == "" })
	said, err := command.Unread(e.Dir) // such as a retry
	if err != nil {
		return err
	}
	switch {
	case Owes(ctx, e):
	case host.Removable(e.State) && done && said == 0:
		return exit.Usage(fmt.Errorf("%s has ended and every agent is done; agentmux agents start --new starts all of them again", e.Name))
	case host.Removable(e.State) && !left && said == 0:
		return exit.Usage(fmt.Errorf("%s has ended and every agent has a marker; agentmux retry %s, then agentmux agents start, starts those again that failed, agentmux agents start --new all of them", e.Name, e.Name))
	}
	if err := o.mayAsk(a); err != nil {
		return err
	}
	if string(frozen) != string(team.Encode()) {
		a.Say("%s continues with the agents it was started with, not with what the file says now; --new starts with the file", e.Name)
	}
	return resume(ctx, a, resumed{entry: e, spec: host.RunSpec{Resume: true}, headless: o.Headless, take: o.Take})
}

// removeFormer removes the session of an earlier run. What is in no branch is kept.
func removeFormer(ctx context.Context, a *site.Finder, s *site.Site, e session.Entry) error {
	removed, err := s.Host.Remove(ctx, e.Dir, s.Config)
	for _, ref := range removed.Kept {
		a.Say("%s: its work stays under a ref: git fetch %s %s", e.Name, removed.Repo, ref)
	}
	return err
}

// settleAutoAccept takes auto_accept back where the owner of the machine has not allowed it, if a
// person is there whom the agents can ask instead.
func settleAutoAccept(a *site.Finder, s *site.Site, team *agents.Team, o AgentsOptions) {
	if host.MayActFreely(s.Host, s.Config) || !a.Terminal || o.Headless {
		return
	}
	for i := range team.Agents {
		if m := &team.Agents[i]; m.AutoAccept {
			m.AutoAccept = false
			a.Say("agent %s asks for permissions: \"sandbox: {unsafe_flags: true}\" in your own configuration allows auto_accept on this machine", m.Name)
		}
	}
}

// ownFile is a file that was named from the working directory; none if none was named.
func ownFile(file string) []string {
	abs, err := filepath.Abs(file)
	if file == "" || err != nil {
		return nil
	}
	return []string{abs}
}

// readTeam reads the agents file, as much of it as is to run.
func readTeam(a *site.Finder, s *site.Site, project *project.Project, o AgentsOptions) (*agents.Team, error) {
	file, name, read := o.File, filepath.Base(o.File), site.ReadAgentsFile
	if file == "" {
		name = s.Config.Agents.File
		file, read = filepath.Join(s.Project, name), func(string) ([]byte, error) { return site.ProjectAgentsFile(s.Project, name) }
	}
	data, err := read(file)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("%s cannot be read: %w; agentmux agents init writes one", file, exit.Bare(err)))
	}
	providers, err := host.Providers(s.Config)
	if err != nil {
		return nil, err
	}
	team, problems := agents.Parse(name, data, agents.Known{Providers: slices.Sorted(maps.Keys(providers))})
	for _, p := range problems.Warnings() {
		a.Say("%s", p)
	}
	if err := problems.Err(); err != nil {
		return nil, exit.Usage(err)
	}
	if team.NamespaceBranches {
		if team, err = team.Namespaced(personSlug(project)); err != nil {
			return nil, exit.Usage(err)
		}
	}
	team, err = team.Only(o.Only)
	if err != nil {
		return nil, exit.Usage(err)
	}
	return team, nil
}

// personSlug is what the person's branches begin with; "" if git does not know a name.
func personSlug(p *project.Project) string {
	if p.User.Name == "" {
		return ""
	}
	return session.Slug(p.User.Name)
}

// teamOf is a team, and the project it is to work in.
type teamOf struct {
	project *project.Project
	team    *agents.Team
}

// wants reports whether on_complete of an agent has one of the steps.
func (t teamOf) wants(steps ...string) bool {
	return slices.ContainsFunc(t.team.Agents, func(a agents.Agent) bool {
		return slices.ContainsFunc(a.OnComplete, func(step string) bool { return slices.Contains(steps, step) })
	})
}

// issues are the numbers that agents work for.
func (t teamOf) issues() (numbers []int) {
	for _, a := range t.team.Agents {
		if a.Issue != 0 {
			numbers = append(numbers, a.Issue)
		}
	}
	return numbers
}

// planAgents prepares the session and says what of on_complete cannot be done.
func planAgents(ctx context.Context, a *site.Finder, s *site.Site, of teamOf, f *Options) (*planned, error) {
	p := &planned{}
	team, project := of.team, of.project
	pushes := of.wants(agents.StepPush, agents.StepPull)
	if (pushes || len(of.issues()) > 0) && s.Host.GitHub != nil && project.GitHub {
		stop := a.Waiting("GitHub about " + project.Repo.String())
		repo, err := s.Host.GitHub.Repository(ctx, project.Repo.Owner, project.Repo.Name)
		stop()
		if err != nil {
			return nil, site.ExplainGitHub(err, project.Repo.String(), s.Identity.From)
		}
		p.push = s.Identity.MayPush(repo)
	}
	if pushes && !p.push {
		a.Say("nothing can be pushed from here: the run ends with branches in this clone")
	}
	var err error
	if p.spec, err = basicSpec(ctx, a, s, project, f); err != nil {
		return nil, err
	}
	p.spec.Agents, p.spec.Trigger = team.Encode(), "agents/"+team.Session
	if len(of.issues()) > 0 {
		err = p.takeIssues(ctx, a, s, of)
	}
	return p, err
}

// settleTest asks the person at the terminal for the command of the step test, and says if it is not run.
func settleTest(ctx context.Context, a *site.Finder, s *site.Site, of teamOf, f *Options) error {
	switch {
	case !of.wants(agents.StepTest):
		return nil
	case len(s.Config.Agents.TestCommand) == 0:
		a.Say("on_complete: test is not run: agents.test_command is not set")
		return nil
	case a.Terminal && !f.Headless:
		if err := hosting.AskTest(ctx, a, s, s.Project); err != nil {
			return err
		}
	}
	if request, open := project.OpenTest(site.StateHome(), s.Project, s.Config); open {
		a.Say("on_complete: test is not run: %s is not allowed on this machine yet (agents.test_command); a start at a terminal asks", console.Words(request.Argv))
	}
	return nil
}

// takeIssues reads the issues that agents work for, all of them, and says what is wrong with each.
func (p *planned) takeIssues(ctx context.Context, a *site.Finder, s *site.Site, of teamOf) error {
	if !of.project.GitHub {
		return exit.Usage(fmt.Errorf("%s: an agent cannot work for an issue; write its text as task", site.NotOnServer(of.project, s.Identity.Bases.Server)))
	}
	if s.Host.GitHub == nil {
		detail, hint := s.Identity.NoToken()
		return exit.Usage(fmt.Errorf("%s; %s; agentmux doctor shows what was looked for", detail, hint))
	}
	unseen, err := of.project.Unseen(ctx, p.spec.Base.SHA)
	if err != nil {
		return err
	}
	judge := judgeOf(a, s, "")
	var problems []error
	var repoID int64
	p.spec.Issues = map[string]*ghsync.Snapshot{}
	for i := range of.team.Agents {
		m := &of.team.Agents[i]
		if m.Issue == 0 {
			continue
		}
		judged, err := judge.Issue(ctx, of.project.Repo, m.Issue, of.project.Repo)
		if exit.As[*request.Error](err) {
			problems = append(problems, fmt.Errorf("agents[%d].issue: %w", i, err))
			continue
		}
		if err != nil {
			return site.ExplainGitHub(err, of.project.Repo.String()+"#"+strconv.Itoa(m.Issue), s.Identity.From)
		}
		for _, warning := range judged.Warnings {
			a.Say("%s", warning)
		}
		judged.Snapshot.Base = unseen
		p.spec.Issues[m.Name], repoID = &judged.Snapshot, judged.Snapshot.RepoID
	}
	if err := errors.Join(problems...); err != nil {
		return exit.Usage(err)
	}
	if !p.push {
		a.Say("this account may not write to %s: nothing is shown on the issues", of.project.Repo)
		return nil
	}
	p.spec.Mirror = s.Config.GitHub.Mirror != "off"
	return hosting.NoneClaimed(ctx, s, of.project.Repo, repoID, of.issues())
}

// printTeam shows what would be started.
func printTeam(a *site.Finder, p *planned, team *agents.Team) {
	trees := 0
	var rows [][]console.Cell
	for i := range team.Agents {
		m := &team.Agents[i]
		if m.Role != agents.RoleReview {
			trees++
		}
		provider := m.Provider
		if provider == "" {
			provider = p.spec.Config.Choose(m.Role).Provider
		}
		auto := "no"
		if m.AutoAccept {
			auto = "yes"
		}
		var row []console.Cell
		for _, text := range []string{m.Name, console.Dash(m.Branch), m.Role, provider, auto, console.Dash(strings.Join(m.DependsOn, ", "))} {
			row = append(row, console.PlainCell(text))
		}
		rows = append(rows, row)
	}
	base := filepath.Join(p.spec.Project.Clone.Root, filepath.FromSlash(team.WorktreeBase))
	pane := "no"
	if team.MainPane && p.spec.Interactive {
		pane = "yes"
	}
	a.Print("SESSION        %s\nWORKTREE BASE  %s\nMAIN PANE      %s\n", team.Session, base, pane)
	a.Page(a.Out).Table([]string{"AGENT", "BRANCH", "ROLE", "PROVIDER", "AUTO", "DEPENDS ON"}, rows)
	a.Print("\n%s, %s", console.Counted(trees, "worktree", "worktrees"), console.Counted(len(team.Agents)-trees, "review agent", "review agents"))
}

// proceeds asks whether to go on. Only a no stops.
func proceeds(ctx context.Context, a *site.Finder) (bool, error) {
	answer, err := a.Answer(ctx, "Proceed? [Y/n] ")
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = exit.UsageText("the input ended before the answer, nothing was started")
		}
		return false, err
	}
	return answer != "n" && answer != "N", nil
}
