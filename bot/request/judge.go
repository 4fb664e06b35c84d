// Package request judges what people ask for: an issue with its record, a text or a file. It
// decides who asked, which part of the text counts, what an earlier session of the issue means,
// and whether another host works on it; whether the issue can be worked on is decided by package
// gate. It reads GitHub and files and writes nothing. A session is prepared from what it returns.
package request

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentmux/agentmux/bot/gate"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// An Error says why a request cannot become a session, and what a person can do about it.
type Error struct{ err error }

func (e *Error) Error() string { return e.err.Error() }

func (e *Error) Unwrap() error { return e.err }

func refuse(err error) error { return &Error{err} }

// A Judge decides about requests. Errors of GitHub are returned as they are.
type Judge struct {
	GitHub  *ghsync.Client
	Rules   gate.Rules
	Push    bool                                 // the configuration wants sessions to push
	MayPush func(ghsync.Repository) bool         // reports whether the account may push
	Waiting func(what string) (stop func() bool) // is called before each wait
}

// Judged is an issue that a session can be made for.
type Judged struct {
	Repo     ghsync.Repo // as it was asked for
	Record   ghsync.Record
	Snapshot ghsync.Snapshot // the text that counts
	Push     bool            // the account may write to the repository
	Workflow string          // that is asked for; "" for the configured one
	Warnings []string        // for the person who asked
	labelled bool
}

// Issue reads an issue once and judges it; own is the repository of the clone. An *Error says
// why the issue is refused.
func (j Judge) Issue(ctx context.Context, repo ghsync.Repo, number int, own ghsync.Repo) (*Judged, error) {
	what := fmt.Sprintf("%s#%d", repo, number)
	record, err := j.record(ctx, repo, number, own)
	if err != nil {
		return nil, err
	}
	stop := j.Waiting("GitHub about who asked for " + what)
	requester, err := j.requester(ctx, record, repo)
	stop()
	if err != nil {
		return nil, err
	}
	now := j.GitHub.Now().UTC()
	decision, _ := gate.Judge(gate.Facts{
		Repo: repo, Issue: number, Record: record, Rules: j.Rules,
		Ask: &gate.Ask{Trigger: gate.CLITrigger(""), By: requester.Account, At: now, Level: requester.Level},
	})
	if decision.What != gate.Start {
		return nil, refuse(errors.New(decision.String()))
	}
	sealed := gate.ReadOnly(record.Repository)
	if sealed != "" && j.Push {
		return nil, refuse(fmt.Errorf("%s is %s, or set github.push: false to keep the work in this clone", record.Repository.Repo, sealed))
	}
	stop = j.Waiting("GitHub about who wrote on " + what)
	snapshot, err := j.GitHub.TakeSnapshot(ctx, ghsync.SnapshotSpec{
		Repo: repo, Issue: number, CutOff: now, Requester: requester, Record: &record,
	})
	stop()
	if err != nil {
		return nil, err
	}
	if snapshot.Report.Refused {
		return nil, refuse(fmt.Errorf("%s hides text in so many layers that no part of it can be trusted: write it again, without HTML and encoded characters", what))
	}
	_, labelled := record.Request(j.Rules.Bot.Label)
	return &Judged{
		Repo: repo, Record: record, Snapshot: snapshot, Push: sealed == "" && j.MayPush(record.Repository),
		Workflow: decision.Asked.Workflow, Warnings: decision.Warnings, labelled: labelled,
	}, nil
}

// record reads the issue. If there is none in a fork, the error names the parent repository.
func (j Judge) record(ctx context.Context, repo ghsync.Repo, number int, own ghsync.Repo) (ghsync.Record, error) {
	what := fmt.Sprintf("%s#%d", repo, number)
	stop := j.Waiting("GitHub about " + what)
	record, err := j.GitHub.Record(ctx, repo, number)
	stop()
	if transport.IsNotFound(err) && repo == own {
		if parent := j.forkedFrom(ctx, repo); parent != "" {
			return record, refuse(fmt.Errorf("%s is not there; %s is a fork: agentmux issue %d --repo %s takes an issue of what it was forked from", what, repo, number, parent))
		}
	}
	return record, err
}

// String is the issue as people write it.
func (j *Judged) String() string {
	return fmt.Sprintf("%s#%d", j.Repo, j.Record.Issue.Number)
}

// Mirrored decides whether the session is shown on the issue: on or off if a flag says so, else
// as configured, else if the issue has the label.
func (j *Judged) Mirrored(on, off bool, configured string) bool {
	switch {
	case !j.Push:
		return false
	case on:
		return true
	case off, configured == "off":
		return false
	case configured == "on":
		return true
	}
	return j.labelled
}

// forkedFrom names the parent of a fork; "" if the repository is not a fork.
func (j Judge) forkedFrom(ctx context.Context, repo ghsync.Repo) string {
	r, err := j.GitHub.Repository(ctx, repo.Owner, repo.Name)
	if err != nil || !r.Fork || r.ParentName == "" {
		return ""
	}
	return r.ParentOwner + "/" + r.ParentName
}
