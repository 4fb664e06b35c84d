package site

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux/bot/admission"
	"github.com/agentmux/agentmux/bot/bell"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/bot/ticket"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Queue is what waits for a slot of the bot of this machine.
type Queue struct {
	Tickets []Queued // in the order in which they get their slots, as far as their files tell
	// Problems are files of tickets that cannot be read.
	Problems []ticket.Problem
}

// Queued is a request that has no session yet.
type Queued struct {
	Place      int    // in the queue of all repositories, from 1
	Project    string // the directory of the managed project
	Repository string
	Issue      int
	Actor      string // who asked for it; empty: that was lost with its session
	Workflow   string // that was asked for; empty: the configured one
	Session    string // the name that its session gets
	Asked      time.Time
	Reason     string // why it waits, as a part of a sentence
}

// QueuedError says that an issue has no session because its request waits for a slot.
type QueuedError struct{ Queued }

// Error says what the request waits for and what can be done.
func (e *QueuedError) Error() string {
	issue := fmt.Sprintf("%s#%d", e.Repository, e.Issue)
	return fmt.Sprintf("%s has no session yet: it waits %s; agentmux sessions --all shows its place, agentmux stop %s takes it out of the queue", issue, e.Reason, issue)
}

// QueueOf reads the tickets of managed projects. Places are those among them. What the bot
// remembers of earlier turns is in no file, so that the true order may be another one.
func QueueOf(projects []project.Managed) (Queue, error) {
	var q Queue
	var waiting []ticket.Ticket
	of := map[int64]project.Managed{}
	for _, m := range projects {
		tickets, problems, err := ticket.Of(m.Dir).Peek()
		if err != nil {
			return q, err
		}
		waiting, q.Problems = append(waiting, tickets...), append(q.Problems, problems...)
		for _, t := range tickets {
			of[t.RepoID] = m
		}
	}
	paused := admission.Machine{StateHome: StateHome()}.Paused()
	for i, t := range ticket.Order(waiting, ticket.Turns{}) {
		m, reason := of[t.RepoID], "for a slot"
		switch {
		case t.Dropped != "":
			reason = "to have its issue told why it is dropped"
		case !bell.Heard(m.Dir):
			reason = "for agentmux bot, which does not serve " + m.Name() + " now"
		case paused:
			reason = "for the end of the pause"
		}
		q.Tickets = append(q.Tickets, Queued{
			Place: i + 1, Project: m.Dir, Repository: m.Name(), Issue: t.Issue, Actor: t.Actor.Login, Workflow: t.Workflow, Session: t.Session, Asked: t.Asked(), Reason: reason,
		})
	}
	return q, nil
}

// Everything lists the sessions of the project and all of the bot of this machine, and what waits
// for a slot.
func (f *Finder) Everything(ctx context.Context) ([]session.Entry, Queue, error) {
	r, err := f.reach(ctx)
	if err != nil {
		return nil, Queue{}, err
	}
	entries, err := session.List(r.own)
	if err != nil {
		return nil, Queue{}, err
	}
	managed := slices.Concat(r.near, r.far)
	slices.SortFunc(managed, func(a, b project.Managed) int {
		return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Dir, b.Dir))
	})
	served, err := sessionsOf(managed)
	if err != nil {
		return nil, Queue{}, err
	}
	if m, ok := project.ManagedAt(StateHome(), r.own); ok {
		managed = append(managed, m)
	}
	queue, err := QueueOf(managed)
	return append(entries, served...), queue, err
}
