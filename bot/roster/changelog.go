package roster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/team"
	"github.com/agentmux/agentmux/workflows/agents"
)

// changelogDir holds what each agent of an agents file did, below the directory of the session.
const changelogDir = "changelogs"

// maxSummary is how much of an agent's own summary is kept.
const maxSummary = 64 << 10

// Log is what the changelog of a run is made from.
type Log struct {
	Session *session.Session
	Team    *agents.Team
	Store   *gitrepo.Store
	Redact  func(string) string
}

// Text returns what the agents of a run did, in the order of their file, and keeps each part
// in the session: changelogs/<name>.md. The summary of an agent is read from its workspace while
// that is there.
func (l Log) Text(ctx context.Context, s *orchestrator.State) (string, error) {
	var parts []string
	for i := range l.Team.Agents {
		a := &l.Team.Agents[i]
		if s.Team[a.Name].Commit == "" {
			continue
		}
		text, err := l.changesOf(ctx, a, s)
		if err != nil {
			return "", fmt.Errorf("describe the work of %s: %w", a.Name, err)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n"), nil
}

// changesOf describes the work of an agent. What was kept when its workspace was there stays.
func (l Log) changesOf(ctx context.Context, a *agents.Agent, s *orchestrator.State) (string, error) {
	p := s.Team[a.Name]
	file := l.Session.Path(changelogDir, a.Name+".md")
	summary, there := summaryIn(s.Workspaces[duty.Work(s, a.Name)].Path)
	kept, err := os.ReadFile(file)
	if err == nil && !there && strings.Contains(string(kept), p.Commit) {
		return string(kept), nil
	}
	message, err := l.Store.Message(ctx, p.Commit)
	if err != nil {
		return "", err
	}
	subject, _, _ := strings.Cut(message, "\n")
	stats, err := l.Store.DiffStat(ctx, p.Parent, p.Commit)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\nBranch: `%s`\n", a.Name, p.Branch)
	if p.PRURL != "" {
		fmt.Fprintf(&b, "Pull request: %s\n", p.PRURL)
	}
	if summary != "" {
		fmt.Fprintf(&b, "\n%s\n", summary)
	}
	fmt.Fprintf(&b, "\nCommit:\n\n- %s %s\n\nFiles:\n\n", p.Commit, subject)
	for _, stat := range stats {
		fmt.Fprintf(&b, "- `%s` +%d -%d\n", stat.Path, stat.Added, stat.Removed)
	}
	text := l.Redact(b.String())
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return text, durable.Replace(file, []byte(text))
}

// summaryIn returns what an agent wrote of its work, and whether its workspace is there.
func summaryIn(workspace string) (text string, there bool) {
	if workspace == "" {
		return "", false
	}
	f, err := os.OpenFile(filepath.Join(workspace, duty.SummaryOfAgent), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		_, err := os.Lstat(workspace)
		return "", err == nil
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", true
	}
	data, _ := io.ReadAll(io.LimitReader(f, maxSummary)) // what cannot be read is left out
	return strings.TrimSpace(strings.ToValidUTF8(string(data), "?")), true
}

// MarkDone makes the marker of an agent by hand, as a person would: the run takes it as soon as it
// sees it.
func MarkDone(dir, name string, exit int) error {
	file := filepath.Join(dir, filepath.FromSlash(team.MarkerFile(name)))
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has a marker already: %s", name, path.Base(file))
	}
	return durable.Create(file, fmt.Appendf(nil, "%d\n", exit))
}
