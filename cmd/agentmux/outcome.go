package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/host"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// tellEnd says where the work of a session is, or why it did not end by itself, and what a
// person can do now.
func (a *app) tellEnd(ctx context.Context, dir string, s *orchestrator.State) {
	line := proposal(ctx, dir, s)
	if line != "" {
		a.say("done: the branch %s is in this clone", s.FeatureBranch)
		a.say("next: %s", line)
	} else if s.Outcome == orchestrator.OutcomeDone && s.Completion.PRURL != "" {
		a.say("done: %s", s.Completion.PRURL)
		if step := draftStep(s); step != "" {
			a.say("next: review the pull request%s", step)
		}
	}
	if e := (session.Entry{Name: s.SessionID, Dir: dir, State: s}); owes(e) && ghsync.Trouble(dir) != "" {
		a.say("not everything is shown on the issue: %s", a.shown()(ghsync.Trouble(dir)))
		a.say("next: agentmux resume %s tries that again", s.SessionID)
	}
	if s.Outcome != orchestrator.OutcomeNeedsHuman && s.Outcome != orchestrator.OutcomeFailed {
		return
	}
	text, next := endTexts(dir)
	if text == "" {
		text = string(s.Cause)
	}
	a.say("%s", strings.TrimSpace(fmt.Sprintf("%s: %s %s", s.Outcome, s.OutcomeReason, text)))
	if next != "" {
		a.say("next: %s", next)
	}
	if step := nextStep(ctx, session.Entry{Name: s.SessionID, Dir: dir, State: s}); step != "" && step != next && step != line {
		a.say("      %s", step)
	}
}

// proposal is the line that proposes a branch which a done session left in the clone, also
// after a failed review; "" if there is nothing of that kind.
func proposal(ctx context.Context, dir string, s *orchestrator.State) string {
	if s.Phase != orchestrator.PhaseDone || s.Completion.Pushed || s.Completion.Commit == "" || s.FeatureBranch == "" {
		return ""
	}
	branch := s.FeatureBranch
	if s.Repo == "" {
		return "git merge " + branch
	}
	remote, head := pushPlace(ctx, dir, s)
	return fmt.Sprintf("git push %s %s && gh pr create --repo %s --base %s --head %s", remote, branch, s.Repo, s.BaseBranch, head)
}

// pushPlace is the remote that a person can push a session's branch to, and how a pull
// request names it there. Who may not write to the repository pushes to a fork of it.
func pushPlace(ctx context.Context, dir string, s *orchestrator.State) (remote, head string) {
	why, branch := notPushed(dir), s.FeatureBranch
	elsewhere := strings.Contains(why, "has no repository on") // origin is on another server
	fork := host.Fork{}
	if !elsewhere {
		fork = host.FindFork(ctx, projectOf(session.Entry{Dir: dir}), string(s.Repo))
	}
	refused := elsewhere || strings.Contains(why, "write permission")
	switch {
	case fork.Remote == "origin", refused && typeable.MatchString(fork.Remote):
		return fork.Remote, fork.Owner + ":" + branch
	case refused:
		return "YOUR-FORK", "YOU:" + branch
	}
	return "origin", branch
}

// notPushed is why the last push was left out.
func notPushed(dir string) (why string) {
	sess, err := session.Open(dir)
	if err != nil {
		return ""
	}
	records, _, err := sess.Events(0)
	if err != nil {
		return ""
	}
	for _, r := range records {
		if r.Type == orchestrator.EvBranchPushed {
			why, _ = r.Data["skipped"].(string)
		}
	}
	return why
}

// endTexts are the words of the newest record that asks for a person.
func endTexts(dir string) (text, next string) {
	sess, err := session.Open(dir)
	if err != nil {
		return "", ""
	}
	records, _, err := sess.Events(0)
	if err != nil {
		return "", ""
	}
	for _, r := range records {
		switch r.Type {
		case orchestrator.EvNeedsHuman:
			text, _ = r.Data["text"].(string)
			next, _ = r.Data["next"].(string)
		case orchestrator.EvFailed:
			text, _ = r.Data["cause"].(string)
			next, _ = r.Data["next"].(string)
		}
	}
	return text, next
}
