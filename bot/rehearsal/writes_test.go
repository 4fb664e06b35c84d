package rehearsal_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/bot/rehearsal"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/ghsync/mirror"
	"github.com/agentmux/agentmux/internal/redact"
)

var widgets = ghsync.Repo{Owner: "octo", Name: "widgets"}

// reads is a server that can be read, and fails a test that would write: it has no writes.
type reads struct {
	mirror.Comments
	mirror.Place
	labels []string
	err    error
}

func (r reads) Since(context.Context, ghsync.Repo, int, time.Time) ([]ghsync.Comment, error) {
	return []ghsync.Comment{{ID: 7}}, r.err
}

func (r reads) Issue(context.Context, ghsync.Repo, int) (ghsync.Issue, error) {
	return ghsync.Issue{Labels: r.labels}, r.err
}

func TestEachWriteIsNotedAsItsRequest(t *testing.T) {
	for name, c := range map[string]struct {
		write func(context.Context, mirror.Server) error
		want  rehearsal.Write
	}{
		"a comment": {func(ctx context.Context, s mirror.Server) error {
			_, _, err := s.Comments.Create(ctx, widgets, 12, markdown.Finish(redact.New(), "text\n"+ghsync.Marker{Session: "s", Kind: ghsync.KindVerdict, Seq: 3}.String()))
			return err
		}, rehearsal.Write{Request: "POST repos/octo/widgets/issues/12/comments", Text: "comment: verdict"}},
		"an edit of a comment that exists": {func(ctx context.Context, s mirror.Server) error {
			return s.Comments.Edit(ctx, widgets, 7, markdown.Finish(redact.New(), "text"))
		}, rehearsal.Write{Request: "PATCH repos/octo/widgets/issues/comments/7", Text: "the status comment"}},
		"a twin": {func(ctx context.Context, s mirror.Server) error {
			return s.Comments.Delete(ctx, widgets, 7)
		}, rehearsal.Write{Request: "DELETE repos/octo/widgets/issues/comments/7"}},
		"a label": {func(ctx context.Context, s mirror.Server) error {
			_, err := s.Labels.AddLabel(ctx, widgets, 12, "agentmux:done")
			return err
		}, rehearsal.Write{Request: "POST repos/octo/widgets/issues/12/labels", Text: "label agentmux:done"}},
		"a label that comes off": {func(ctx context.Context, s mirror.Server) error {
			return s.Labels.RemoveLabel(ctx, widgets, 12, "agentmux")
		}, rehearsal.Write{Request: "DELETE repos/octo/widgets/issues/12/labels/agentmux", Text: "label agentmux comes off"}},
		"a verdict": {func(ctx context.Context, s mirror.Server) error {
			return s.Verdicts.CommitStatus(ctx, widgets, "c0ffee", ghsync.CommitSuccess, "passed", "")
		}, rehearsal.Write{Request: "POST repos/octo/widgets/statuses/{commit}", Text: "commit status agentmux/review: success"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &rehearsal.Writes{}
			if err := c.write(t.Context(), w.Server(mirror.Server{Comments: reads{}, Place: reads{}})); err != nil {
				t.Fatal(err)
			}
			if got := w.List(); !slices.Equal(got, []rehearsal.Write{c.want}) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// What the server would have given a number or an id has a word in place of it, and is not
// read from the server.
func TestWhatWasNeverMadeHasNoNumber(t *testing.T) {
	w := &rehearsal.Writes{}
	pulls, s := w.Pulls(nil), w.Server(mirror.Server{Comments: reads{err: errors.New("asked")}, Place: reads{}})
	id, _, err := s.Comments.Create(t.Context(), widgets, 12, markdown.Finish(redact.New(), "text"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Comments.Edit(t.Context(), widgets, id, markdown.Finish(redact.New(), "more")); err != nil {
		t.Fatal(err)
	}
	const pull = 1<<40 + 5
	if err := pulls.RequestReview(t.Context(), widgets, pull, "mia"); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Comments.Since(t.Context(), widgets, pull, time.Time{}); err != nil || len(found) > 0 {
		t.Errorf("comments %+v, %v", found, err)
	}
	want := []rehearsal.Write{
		{Request: "POST repos/octo/widgets/issues/12/comments", Text: "comment: "},
		{Request: "PATCH repos/octo/widgets/issues/comments/{id}", Text: "the status comment"},
		{Request: "POST repos/octo/widgets/pulls/{number}/requested_reviewers", Text: "review asked of mia"},
	}
	if got := w.List(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestARepeatedWriteIsListedOnce(t *testing.T) {
	w := &rehearsal.Writes{}
	s := w.Server(mirror.Server{Comments: reads{}, Place: reads{}})
	for range 3 {
		if err := s.Comments.Edit(t.Context(), widgets, 7, markdown.Finish(redact.New(), "text")); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.List(); len(got) != 1 || !got[0].Again {
		t.Errorf("%+v", got)
	}
}

func TestALabelIsAddedToThoseOfTheIssue(t *testing.T) {
	for name, c := range map[string]struct {
		issue reads
		want  []string
	}{
		"read":     {reads{labels: []string{"agentmux"}}, []string{"agentmux", "agentmux:running"}},
		"not read": {reads{err: errors.New("away")}, []string{"agentmux:running"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := new(rehearsal.Writes).Server(mirror.Server{Comments: c.issue, Place: c.issue})
			if got, err := s.Labels.AddLabel(t.Context(), widgets, 12, "agentmux:running"); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}
