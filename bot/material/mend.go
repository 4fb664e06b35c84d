package material

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows"
)

// maxMended is the largest file that a prompt takes.
const maxMended = 1 << 20

// Mend writes files of the session again that prompts are made from and that somebody
// deleted: from what the session holds of them, else from its checkpoint.
func (r *Files) Mend(ctx context.Context, s *orchestrator.State) error {
	mended, lost, err := r.sess.Mend(s)
	if err != nil {
		return err
	}
	for _, rel := range lost {
		data, err := r.repo.File(ctx, gitrepo.CheckpointRef(r.place.String()), path.Join("session", rel), maxMended)
		if err != nil {
			r.log.Warn("a file of the session is gone, and no checkpoint holds it", "session", r.sess.Name(), "path", r.sess.Path(rel), "err", err)
			continue
		}
		if err := r.sess.Replace(rel, data); err != nil {
			return err
		}
		mended = append(mended, rel)
	}
	derived, err := r.mendReviews(ctx, s)
	for _, rel := range append(mended, derived...) {
		r.log.Warn("a file of the session was gone and is written again", "session", r.sess.Name(), "path", rel)
	}
	return err
}

// mendReviews derives again what fixers and the author of the summary read.
func (r *Files) mendReviews(ctx context.Context, s *orchestrator.State) (mended []string, err error) {
	review, _ := r.def.Kind(workflows.KindReview)
	phase, _ := r.def.Phase(s.Phase)
	for _, a := range []orchestrator.Args{
		{Material: orchestrator.MaterialFix, Path: path.Join(review.Dir, "fix_request.md")},
		{Material: orchestrator.MaterialReviewAll, Path: path.Join(review.Dir, "review.md")},
	} {
		fix := a.Material == orchestrator.MaterialFix
		if fix != (phase.Kind == workflows.KindFix) || !fix && !s.AwaitingSummary {
			continue
		}
		if slices.ContainsFunc(s.Pending, func(e orchestrator.Effect) bool { return e.Args.Path == a.Path }) {
			continue // it is being written
		}
		if _, err := os.Lstat(r.sess.Path(a.Path)); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		a.Sources = map[string]string{}
		for role, res := range s.ReviewResults {
			if res.SHA256 != "" && (!fix || res.Iteration == s.ReviewIteration-1) {
				a.Sources[role] = res.SHA256
			}
		}
		if len(a.Sources) == 0 {
			continue
		}
		if _, err := r.Materialise(ctx, orchestrator.Effect{Args: a}, s); err != nil {
			return mended, err
		}
		mended = append(mended, a.Path)
	}
	return mended, nil
}
