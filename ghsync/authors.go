package ghsync

import (
	"context"
	"slices"
	"time"
)

// authors are the people who wrote something on an issue. What they may do is asked once: what
// an earlier reading remembers may no longer be so.
type authors struct {
	c      *Client
	repo   Repo
	writes map[string]bool // by login
}

// write asks the server whether a person may write to the repository.
func (a *authors) write(ctx context.Context, who Account) (bool, error) {
	if !who.IsPerson() {
		return false, nil
	}
	if may, ok := a.writes[who.Login]; ok {
		return may, nil
	}
	p, err := a.c.CurrentPermission(ctx, a.repo, who.Login)
	if err != nil {
		return false, err
	}
	if a.writes == nil {
		a.writes = map[string]bool{}
	}
	a.writes[who.Login] = p.Write()
	return p.Write(), nil
}

// eligible returns the comments to take, oldest first: the newest of those whose author may
// steer and which are as they were at the cut-off.
func (a *authors) eligible(ctx context.Context, cutOff time.Time, r *Record) ([]Comment, CommentCounts, error) {
	counts := CommentCounts{Older: r.Unread}
	var taken []Comment
	for _, comment := range slices.Backward(r.Comments) {
		switch {
		case comment.CreatedAt.After(cutOff) || comment.EditedAt.After(cutOff):
			counts.Late++
			continue
		case comment.Minimized:
			counts.Hidden++
			continue
		case IsCommand(comment.Body):
			counts.Command++
			continue
		}
		may, err := a.maySteer(ctx, comment)
		if err != nil {
			return nil, counts, err
		}
		switch {
		case !may:
			counts.Author++
		case len(taken) == maxUsedComments:
			counts.Older++
		default:
			taken = append(taken, comment)
		}
	}
	slices.Reverse(taken)
	counts.Used = len(taken)
	return taken, counts, nil
}

// maySteer asks the server whether the author of a comment may write. To be a member, or a
// collaborator who reads, is not enough: such accounts are many and cheap.
func (a *authors) maySteer(ctx context.Context, comment Comment) (bool, error) {
	if !comment.Author.IsPerson() {
		return false, nil
	}
	if ours, err := a.c.Ours(ctx, comment); ours || err != nil {
		return false, err
	}
	return a.write(ctx, comment.Author)
}
