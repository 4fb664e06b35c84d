package ghsync_test

import (
	"slices"
	"testing"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/fakehub"
)

func TestReceiptsAreOurReactions(t *testing.T) {
	s := world(t)
	r := s.Repo(widgets)
	n := r.AddIssue(fakehub.IssueSpec{Title: "t", Author: "read"})
	id := r.Comment(n, "/agentmux stop", "write")
	s.Inject(fakehub.LoseResponse("POST .../issues/comments/{id}/reactions"))
	c := clientOf(t, s, botLogin)
	receipts := ghsync.Receipts{Client: c}
	for _, reaction := range []string{ghsync.ReactionSeen, ghsync.ReactionDone} {
		if err := receipts.React(t.Context(), octoWidgets, id, reaction); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.Comments(n)[0].Reactions; !slices.Equal(got, []string{botLogin + " eyes", botLogin + " +1"}) {
		t.Errorf("reactions %q", got)
	}
	given, err := receipts.Given(t.Context(), octoWidgets, id)
	if err != nil || len(given) != 2 || given[ghsync.ReactionDone][0].Login != botLogin {
		t.Errorf("given %+v, %v", given, err)
	}
	comments, _, err := (ghsync.Intake{Client: c}).RecentComments(t.Context(), octoWidgets, 1)
	if err != nil || !comments[0].Reacted {
		t.Errorf("comments %+v, %v", comments, err)
	}
}

func TestReceiptsOfReviews(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*fakehub.Options)
		want   []string
	}{
		"GraphQL":    {func(*fakehub.Options) {}, []string{botLogin + " eyes", botLogin + " -1"}},
		"no GraphQL": {withoutGraphQL, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := world(t, tc.change)
			r := s.Repo(widgets)
			r.Commit(fakehub.CommitSpec{Branch: "fix", Message: "m", Files: map[string]string{"a": "b"}})
			c := clientOf(t, s, botLogin)
			pr, err := (&ghsync.PullRequest{Client: c}).Ensure(t.Context(), ghsync.PullRequestSpec{Repo: octoWidgets, Branch: "fix", Base: "main", Title: "t", Body: text("b")})
			if err != nil {
				t.Fatal(err)
			}
			r.Review(pr.Number, "write", "COMMENTED", "/agentmux stop")
			reviews, err := (ghsync.Intake{Client: c}).Reviews(t.Context(), octoWidgets, pr.Number)
			if err != nil || len(reviews) != 1 {
				t.Fatalf("reviews %+v, %v", reviews, err)
			}
			s.Inject(fakehub.LoseResponse("POST /graphql"))
			for _, reaction := range []string{ghsync.ReactionSeen, ghsync.ReactionRefused} {
				given, err := (ghsync.Receipts{Client: c}).ReactToReview(t.Context(), reviews[0], reaction)
				if err != nil || given != (tc.want != nil) {
					t.Fatalf("given %v, %v", given, err)
				}
			}
			if got := r.ReviewReactions(pr.Number); !slices.Equal(got, tc.want) {
				t.Errorf("reactions %q", got)
			}
		})
	}
}
