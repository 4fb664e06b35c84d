package crew

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/assignment"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
	"github.com/agentmux/agentmux/orchestrator/toolset"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
	"github.com/agentmux/agentmux/workflows/prompt"
)

// EnsurePrompt renders the prompt of a launch once and returns its hash. The prompt of a
// prepared launch is not rendered a second time.
func (r *Crew) EnsurePrompt(ctx context.Context, a orchestrator.Args, s *orchestrator.State) (string, error) {
	return (&briefing{r}).ensure(ctx, a, s)
}

func (r *briefing) ensure(ctx context.Context, a orchestrator.Args, s *orchestrator.State) (string, error) {
	if _, err := os.Stat(r.sess.Path(session.LaunchesDir, string(a.Launch), "launch.json")); err == nil {
		if data, err := session.ReadFile(r.sess.Path(a.PromptFile)); err == nil {
			return hashOf(data), nil
		}
	}
	if err := r.sources.Mend(ctx, s); err != nil {
		return "", err
	}
	values, err := r.promptValues(ctx, a, s)
	if err != nil {
		return "", err
	}
	text, err := prompt.Render(prompt.Request{
		Template: a.Template, Interactive: s.Interactive, Values: values, Root: r.sess.Dir,
		Paths: r.def.Paths(), Project: r.prompts,
	})
	if err != nil {
		return "", engine.Never(err)
	}
	if err := r.sess.Replace(a.PromptFile, []byte(text)); err != nil {
		return "", err
	}
	return hashOf([]byte(text)), nil
}

func (r *briefing) promptValues(ctx context.Context, a orchestrator.Args, s *orchestrator.State) (map[string]string, error) {
	subplan := duty.SubplanOf(a.Task)
	values := map[string]string{
		"session_dir": r.sess.Dir, "workspace": s.Workspaces[a.Workspace].Path, "role": a.Role, "task": a.Task,
		"subplan": subplan, "tool_line": r.toolLine(a, s),
		"conflict_paths": bulleted(s.Conflicts[subplan]), "answers": r.answers(a, s),
	}
	if slices.Contains(r.begun, a.Workspace) {
		values["earlier_work"] = earlierWork
	}
	var err error
	if r.def.Team != nil {
		issue := ""
		if blob := s.Team[a.Task].Snapshot; blob != "" {
			if issue, err = r.sources.IssueTask(blob); err != nil {
				return nil, engine.Never(err)
			}
		}
		values["assignment"] = assignment.Text(r.def.Team, a.Task, issue, s)
	}
	if values["change_request"], err = r.wishes(s); err != nil {
		return nil, err
	}
	if values["research_handoff"], err = r.handoff(s); err != nil {
		return nil, err
	}
	if slices.Contains(workflows.ReviewRoles(), a.Role) {
		strays, err := r.sources.Strays()
		if err != nil {
			return nil, err
		}
		if values["diff_stat"], err = r.sources.DiffStat(ctx, s.BaseSHA, s.Integrated.Commit, strays); err != nil {
			return nil, err
		}
		if values["previous_findings"], err = r.previous(ctx, a, s); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// earlierWork is what an agent is told that takes up a workspace of another machine.
const earlierWork = "yes. An agent before you began this work on another machine and did not hand it in; it cannot be asked. " +
	"`git status` and `git diff` show what it left. Look at that first, keep what is right, and complete it"

// handoff returns the results of finished research: the summaries, and the details by path.
func (r *briefing) handoff(s *orchestrator.State) (string, error) {
	var b strings.Builder
	for _, kind := range []string{"code", "web"} {
		tasks := s.ResearchTasks
		if kind == "web" {
			tasks = s.WebResearchTasks
		}
		for _, topic := range slices.Sorted(maps.Keys(tasks)) {
			if tasks[topic] != orchestrator.ResearchDone {
				continue
			}
			dir := duty.ResearchDir(kind, topic)
			data, err := r.sources.ReadText(path.Join(dir, "summary.md"))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "### %s (%s)\n\n%s\n\nDetails: `%s`\n\n", topic, kind, strings.TrimSpace(string(data)), r.sess.Path(dir, "detail.md"))
		}
	}
	return b.String(), nil
}

// wishes returns the parts of the change request, each with who asked for it.
func (r *briefing) wishes(s *orchestrator.State) (string, error) {
	const what = "a request for changes"
	if s.ChangeRequest == "" {
		return "", nil
	}
	records, _, err := r.sess.Events(0)
	if err != nil {
		return "", fmt.Errorf("read who asked for changes: %w", err)
	}
	var all story.Wishes
	for _, e := range records {
		all.Fold(e)
	}
	if all.Request() != string(s.ChangeRequest) { // as of a session of the earlier tool
		return prompt.Fence(what, string(s.ChangeRequest)), nil
	}
	var fenced []string
	for _, one := range all {
		fenced = append(fenced, prompt.FenceBy(what, one.Author, one.Text))
	}
	return strings.Join(fenced, "\n"), nil
}

// answers returns the earlier questions of this agent with their answers.
func (r *briefing) answers(a orchestrator.Args, s *orchestrator.State) string {
	var b strings.Builder
	var by []string
	for _, q := range s.Questions {
		if q.Open() || q.Role != a.Role || q.Task != a.Task {
			continue
		}
		fmt.Fprintf(&b, "%s: %s\nAnswer: %s\n\n", q.ID, q.Text, q.Answer)
		if author := string(q.AnsweredBy); author != "" && !slices.Contains(by, author) {
			by = append(by, author)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return prompt.FenceBy("answers to your questions", strings.Join(by, ", "), b.String())
}

// previous returns what a reviewer gets of its last review: the findings, or what changed since
// it passed an earlier state of the work.
func (r *briefing) previous(ctx context.Context, a orchestrator.Args, s *orchestrator.State) (string, error) {
	review, ok := s.ReviewResults[a.Role]
	if !ok {
		return "", nil
	}
	since := "What changed since then is not known: look at the whole work again.\n"
	if review.Tree != "" { // else a verdict of the earlier tool
		stat, err := r.sources.DiffStat(ctx, review.Tree, s.Integrated.Commit, nil)
		if err != nil {
			return "", err
		}
		since = fmt.Sprintf("Changed since then (`git diff %s HEAD`, if that tree is known to the workspace):\n\n```text\n%s```\n", review.Tree, stat)
	}
	if a.Since != "" || review.Verdict == artifact.VerdictPass {
		return "You passed an earlier state of this work.\n\n" + since, nil
	}
	data, err := r.sources.ReadText(review.Archive)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return strings.TrimSpace(string(data)) + "\n\n" + since, nil
}

func bulleted(items []string) string {
	var b strings.Builder
	for _, item := range items {
		fmt.Fprintf(&b, "- `%s`\n", item)
	}
	return b.String()
}

// toolLine says how the agent hands in: by the tool, or by a command.
func (r *briefing) toolLine(a orchestrator.Args, s *orchestrator.State) string {
	tool, given := handIn(r.def, a, s)
	params, words := tool.HandIn(given)
	command := append([]string{r.Self}, words...)
	command = append(command, "--session", r.sess.Dir, "--role", a.Role)
	if a.Task != "" {
		command = append(command, "--task", a.Task)
	}
	command = append(command, "--launch", string(a.Launch))
	for i, word := range command {
		command[i] = shellWord(word)
	}
	name, others := fmt.Sprintf("`%s` of the MCP server `agentmux`", tool.Name), ""
	p := r.providers[r.choose(a).Provider]
	if shown := p.Shown(tool.Name); shown != tool.Name {
		name = fmt.Sprintf("`%s` (%s)", shown, name)
		others = fmt.Sprintf(" The other tools of the server are named alike, as `%s`.", p.Shown(toolset.ReportStatus))
	}
	return fmt.Sprintf("Tool %s, parameters: %s.%s Without that server, as a command:\n\n```sh\n%s\n```",
		name, params, others, strings.Join(command, " "))
}

// handIn returns the tool that ends a launch's work, and the values of its parameters.
func handIn(def *workflows.Definition, a orchestrator.Args, s *orchestrator.State) (toolset.Tool, map[string]string) {
	if kind, ok := duty.ResearchKind(a.Role); ok {
		tool, _ := toolset.Find(toolset.SubmitResearchDone)
		return tool, map[string]string{"topic": a.Task, "type": kind}
	}
	if def.Team != nil {
		tool, _ := toolset.Find(toolset.SubmitDone)
		return tool, nil
	}
	phase, _ := def.Phase(s.Phase)
	tool, ok := toolset.Ending(phase, s.AwaitingSummary)
	if !ok { // the session left the reviews before the prompt was written
		tool, _ = toolset.Ending(workflows.Phase{Kind: workflows.KindReview}, s.AwaitingSummary)
	}
	if tool.Name == toolset.SubmitDone {
		return tool, map[string]string{"subplan_index": cmp.Or(duty.SubplanOf(a.Task), "1")}
	}
	return tool, nil
}

// shellWord quotes a word for a shell if needed.
func shellWord(word string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("/._-:=@%+", c)
	}
	if word != "" && strings.IndexFunc(word, func(c rune) bool { return !plain(c) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
