package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/bot/journal"
	"github.com/agentmux/agentmux/bot/rehearsal"
	"github.com/agentmux/agentmux/bot/request"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Rehearse judges all requests there are now and prints to w what Run would write for them, in order.
// It writes nothing, neither on the server nor below the state home.
func Rehearse(ctx context.Context, o Options, w io.Writer) error {
	home := o.Host.StateHome
	scratch, err := rehearsal.Scratch(home)
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	o.Host.StateHome, o.Host.Stores, o.Once = scratch, "", true
	b, err := New(o)
	if err != nil {
		return err
	}
	repos := slices.Clone(o.Repos)
	for _, org := range o.Config.Bot.Orgs {
		client, err := b.Accounts.Sweep(ctx, org)
		if err != nil {
			return err
		}
		found, err := intake.Repositories(ctx, intake.SweepOptions{Client: client, Org: org, Labels: request.Labels(b.Config.Bot.Label, b.Workflows), Log: b.Log})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			fmt.Fprintf(w, "%s: no issue asks for work\n", org)
		}
		repos = append(repos, found...)
	}
	for _, repo := range repos {
		if err := b.rehearse(ctx, repo, home, w); err != nil {
			return fmt.Errorf("%s: %w", repo, err)
		}
	}
	return nil
}

func (b *Bot) rehearse(ctx context.Context, repo ghsync.Repo, home string, w io.Writer) error {
	r, err := b.openRepository(ctx, repo)
	if err != nil {
		return err
	}
	if b.repository(r.id) != nil { // an organisation has it, too
		return nil
	}
	b.repos = append(b.repos, r)
	if err := r.asKnown(home); err != nil {
		return err
	}
	issues := []int{b.Issue}
	if b.Issue == 0 {
		if issues, err = intake.Requests(ctx, r.account.Client, r.name(), b.Config.Bot.Label); err != nil {
			return err
		}
	}
	for _, issue := range issues {
		if err := r.rehearse(ctx, issue, w); err != nil {
			return err
		}
	}
	if len(issues) == 0 {
		fmt.Fprintf(w, "%s: no issue asks for work\n", r.name())
	}
	return nil
}

// patience is how long a request that cannot be judged yet is waited for.
const patience = 10 * time.Second

// rehearse judges an issue and prints what follows.
func (r *repository) rehearse(ctx context.Context, issue int, w io.Writer) error {
	for began := r.bot.Now(); ; {
		record, readErr := r.server.Record(ctx, r.name(), issue)
		facts, _, err := r.facts(ctx, issue, record, readErr)
		if err != nil {
			return err
		}
		d := gate.Decide(ctx, facts, r.server)
		if d.What == gate.Later && r.bot.Now().Add(d.After).Sub(began) <= patience && transport.Wait(ctx, max(d.After, time.Second)) {
			continue
		}
		p := gate.Plan{Repo: r.name(), Record: record, Label: r.bot.Config.Bot.Label, Host: r.bot.host.String(), Decision: d}
		if d.What == gate.Refuse {
			n := markdown.New(r.account.Server, r.bot.Config.GitHub.LinkHosts)
			p.Refusal = gate.Refusal(d, n, r.bot.Host.Redactor).String()
		}
		p.Print(w)
		return ctx.Err()
	}
}

// asKnown has the repository judged by what is below the true state home.
func (r *repository) asKnown(home string) error {
	rel, err := filepath.Rel(r.bot.Host.StateHome, r.dir())
	if err != nil {
		return err
	}
	dir := filepath.Join(home, rel)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if r.journal, err = journal.Open(dir, journal.Options{Now: r.bot.Now}); err != nil {
		return err
	}
	r.shelf = ticket.Of(dir)
	entries, err := session.List(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.State != nil && e.State.IssueNumber != 0 {
			r.know(e.Dir, e.State)
		}
	}
	return nil
}
