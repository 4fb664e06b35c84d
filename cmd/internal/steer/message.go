package steer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows/message"
)

// Write sends a message of the person to an agent of a run of an agents file. flag returns what was
// typed for a flag of msg send. Of another sender it makes a message by hand, whose sender is claimed.
func Write(ctx context.Context, a *site.Finder, flag func(name string) string) error {
	entry, err := writable(ctx, a, flag("session"), flag("to"))
	if err == nil {
		err = entry.Err
	}
	if err == nil {
		err = refuseUnhosted(entry, post.CommandSend)
	}
	if err != nil {
		return err
	}
	m, warning, err := letter(entry.Dir, flag)
	if err != nil {
		return err
	}
	if warning != "" {
		a.Say("--to: %s", warning)
	}
	dir := filepath.Join(entry.Dir, session.MessagesDir)
	file, sum, err := postbox.Box{Dir: dir}.Write(m, time.Now())
	if errors.Is(err, postbox.ErrLarge) {
		return exit.Usage(fmt.Errorf("the message is %w", err))
	}
	if err != nil {
		return err
	}
	if m.From != message.Person { // the host takes it as any file by hand
		a.Say("%s: left for the session, of a sender that is claimed; agentmux msg list --session %s shows what becomes of it", file, entry.Name)
		return nil
	}
	p := typed(orchestrator.Payload{Name: post.CommandSend, File: path.Join(session.MessagesDir, file), SHA256: sum})
	at, err := record(ctx, a, entry, p)
	recorded := err == nil
	if recorded {
		err = become(ctx, a, at, entry, p)
	}
	switch {
	case err == nil:
		return nil
	case recorded && ctx.Err() != nil || errors.Is(err, session.ErrStays): // the session may have it
		a.Say("%s is not known to be sent; agentmux msg list --session %s shows whether it is", file, entry.Name)
		return err
	}
	return errors.Join(err, os.Remove(filepath.Join(dir, file))) // without its file the command has no effect, if it is read later
}

// writable finds the run that a message goes to: the one that is named, else the one whose mesh the address
// names, as a whole or by its bare name, else the only one.
func writable(ctx context.Context, a *site.Finder, name, to string) (session.Entry, error) {
	if name != "" {
		return FindFor(ctx, a, post.CommandSend, []string{name}, site.Live)
	}
	if mesh, _, ok := strings.Cut(to, "/"); ok {
		for _, means := range []func(run, mesh string) bool{sameName, post.InstanceOf} {
			e, err := a.Find(ctx, nil, func(e session.Entry) bool { return site.Live(e) && means(e.Name, mesh) })
			if err == nil || exit.As[*session.AmbiguousError](err) {
				return e, notOne(err)
			}
		}
	}
	return FindFor(ctx, a, post.CommandSend, nil, site.Live)
}

func sameName(run, mesh string) bool { return run == mesh }

// letter makes the message, with what its writer is warned of, or says all that is wrong with it.
func letter(dir string, flag func(string) string) (m message.Message, warning string, err error) {
	s, err := session.Open(dir)
	if err != nil {
		return m, "", err
	}
	def, err := s.Definition()
	if err != nil {
		return m, "", err
	}
	m = message.Message{
		From: message.Person, Type: flag("type"), Headline: strings.TrimSpace(flag("headline")), Status: flag("status"), InReplyTo: flag("in-reply-to"), Priority: flag("priority"),
		ID: "core-" + RandomID()[:8], At: time.Now(), Body: []byte(strings.TrimRight(flag("body"), "\n") + "\n"),
	}
	var problems []string
	to, warning, problem := post.Recipient(def, flag("to"))
	if def.Team == nil {
		problem = "the agents of a workflow get no messages; agentmux say tells the one at work something"
	}
	if problem != "" {
		problems = append(problems, "--to: "+problem)
	}
	m.To, _ = message.ParseAddress(to)
	if text := flag("from"); text != "" {
		if m.From, err = message.ParseAddress(text); err != nil {
			problems = append(problems, "--from: "+err.Error())
		}
	}
	if m.Headline == "" {
		problems = append(problems, "--headline: required")
	}
	if text := flag("deadline"); text != "" {
		if m.Deadline, err = time.Parse(time.RFC3339, text); err != nil {
			problems = append(problems, fmt.Sprintf("--deadline: expected a time such as 2026-01-15T10:05:00Z, found %q", text))
		}
	}
	if len(problems) == 0 {
		_, found := message.Parse("message", m.Text(), nil)
		for _, p := range found {
			p.File, p.Line = "", 0
			problems = append(problems, "--"+p.String())
		}
	}
	if len(problems) > 0 {
		return m, "", exit.Usage(errors.New(strings.Join(problems, "\n")))
	}
	return m, warning, nil
}
