package material

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/duty"
	"github.com/agentmux/agentmux/orchestrator/engine"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/workflows"
	"github.com/agentmux/agentmux/workflows/artifact"
)

// EnsureDirs makes directories of the session.
func (r *Files) EnsureDirs(_ context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	return orchestrator.Result{}, r.sess.EnsureDirs(e.Args.Paths...)
}

// WriteFile writes a file from the bytes of that hash which the session holds.
func (r *Files) WriteFile(_ context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	return orchestrator.Result{SHA256: e.Args.SHA256}, r.sess.WriteBlob(e.Args.Path, e.Args.SHA256)
}

// WriteMarker makes an empty file that stays.
func (r *Files) WriteMarker(_ context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	return orchestrator.Result{}, r.sess.Mark(e.Args.Path)
}

// MoveAside keeps files of an earlier visit beside their places; with a time only older ones.
func (r *Files) MoveAside(_ context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	if e.Args.Before.IsZero() {
		return orchestrator.Result{}, r.sess.MoveAside(e.Args.Visit, e.Args.Paths...)
	}
	return orchestrator.Result{}, r.sess.MoveOlder(e.Args.Visit, e.Args.Before.Time, e.Args.Paths...)
}

// Orphan renames the files of messages that were not delivered.
func (r *Files) Orphan(_ context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	return orchestrator.Result{}, r.sess.Orphan(e.Args.Paths...)
}

// RemoveFiles removes files of the session.
func (r *Files) RemoveFiles(_ context.Context, e orchestrator.Effect, _ *orchestrator.State) (orchestrator.Result, error) {
	return orchestrator.Result{}, r.sess.Remove(e.Args.Paths...)
}

// Materialise writes derived files from the bytes that were accepted, whatever the
// artifact on disk says by now.
func (r *Files) Materialise(ctx context.Context, e orchestrator.Effect, s *orchestrator.State) (orchestrator.Result, error) {
	switch e.Args.Material {
	case orchestrator.MaterialPlan:
		return orchestrator.Result{}, r.derivePlan(e.Args)
	case orchestrator.MaterialConflict:
		return orchestrator.Result{}, r.deriveConflict(ctx, e.Args)
	}
	results, err := r.Reviews(e.Args.Sources)
	if err != nil {
		return orchestrator.Result{}, err
	}
	var text []byte
	switch e.Args.Material {
	case orchestrator.MaterialReview:
		if len(results) != 1 {
			return orchestrator.Result{}, engine.Never(fmt.Errorf("derive %s: %d sources", e.Args.Path, len(results)))
		}
		text = results[0].Archive()
	case orchestrator.MaterialReviewAll:
		text = artifact.ReviewSummary(results)
	case orchestrator.MaterialFix:
		text = artifact.FixRequest(results)
	case orchestrator.MaterialSummary:
		return orchestrator.Result{}, r.deriveSummary(e.Args.Path, s.Visit, artifact.FallbackSummary(results))
	default:
		return orchestrator.Result{}, engine.Never(fmt.Errorf("derive %s: unknown material %q", e.Args.Path, e.Args.Material))
	}
	return orchestrator.Result{}, r.sess.Replace(e.Args.Path, text)
}

func (r *Files) derivePlan(a orchestrator.Args) error {
	sum := a.Sources["plan"]
	data, err := r.sess.Blob(sum)
	if err != nil {
		return fmt.Errorf("derive plan files: %w", err)
	}
	plan, problems := artifact.ParsePlan(data)
	if err := problems.Err(); err != nil {
		return engine.Never(fmt.Errorf("derive plan files: %w", err))
	}
	files, err := plan.Files(sum)
	if err != nil {
		return engine.Never(fmt.Errorf("derive plan files: %w", err))
	}
	for _, f := range files {
		if err := r.sess.Replace(path.Join(a.Path, f.Name), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// Reviews reads accepted reviews, in the order in which roles are shown.
func (r *Files) Reviews(sources map[string]string) ([]artifact.RoleReview, error) {
	var results []artifact.RoleReview
	for _, role := range byReviewOrder(slices.Collect(maps.Keys(sources))) {
		data, err := r.sess.Blob(sources[role])
		if err != nil {
			return nil, fmt.Errorf("read review of %s: %w", role, err)
		}
		review, problems := artifact.ParseReview(data)
		if err := problems.Err(); err != nil {
			return nil, engine.Never(fmt.Errorf("read review of %s: %w", role, err))
		}
		results = append(results, artifact.RoleReview{Role: role, SHA256: sources[role], Review: review})
	}
	return results, nil
}

func byReviewOrder(roles []string) []string {
	slices.SortFunc(roles, func(a, b string) int {
		return slices.Index(workflows.ReviewRoles(), a) - slices.Index(workflows.ReviewRoles(), b)
	})
	return roles
}

// deriveSummary writes the summary if no agent submitted one. What an agent had begun stays
// beside it.
func (r *Files) deriveSummary(rel string, visit int, text []byte) error {
	have, err := session.ReadFile(r.sess.Path(rel))
	if err == nil && bytes.Equal(have, text) {
		return nil
	}
	if err := r.sess.MoveAside(visit, rel); err != nil {
		return err
	}
	return r.sess.Replace(rel, text)
}

// maxConflictDiff bounds what a prompt includes of preserved work.
const maxConflictDiff = 512 << 10

// deriveConflict writes the preserved work of a subplan as a diff against its base.
func (r *Files) deriveConflict(ctx context.Context, a orchestrator.Args) error {
	kept := gitrepo.PreservedRef(r.place.String(), a.Task)
	commit, err := r.repo.Ref(ctx, kept)
	if err != nil {
		return err
	}
	if commit == "" {
		return engine.Never(fmt.Errorf("derive %s: nothing was preserved of %s", a.Path, a.Task))
	}
	diff, err := r.repo.Diff(ctx, commit+"^1", commit, maxConflictDiff)
	if errors.Is(err, gitrepo.ErrTooLarge) {
		diff, err = r.conflictStat(ctx, commit)
	}
	if err != nil {
		return fmt.Errorf("derive %s: %w", a.Path, err)
	}
	return r.sess.Replace(a.Path, diff)
}

func (r *Files) conflictStat(ctx context.Context, commit string) ([]byte, error) {
	stats, err := r.repo.DiffStat(ctx, commit+"^1", commit)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("The diff is too large to show. It changes these files:\n\n")
	for _, s := range stats {
		fmt.Fprintf(&b, "%s (+%d -%d)\n", s.Path, s.Added, s.Removed)
	}
	return b.Bytes(), nil
}

// ReadText reads a file of the session as text for a prompt.
func (r *Files) ReadText(rel string) ([]byte, error) {
	checked, err := r.sess.CheckArtifact(rel, duty.ArtifactText)
	if err != nil {
		return nil, err
	}
	if checked.Data == nil {
		return nil, fs.ErrNotExist
	}
	return checked.Data, nil
}

// Optional is a text of the session, "" if it is not there or not readable.
func (r *Files) Optional(rel string) string {
	data, err := r.ReadText(rel)
	if err != nil {
		return ""
	}
	return string(data)
}

// Dir is the directory of the workflow's phase of a kind, "" if it has none.
func (r *Files) Dir(kind string) string {
	p, _ := r.def.Kind(kind)
	return p.Dir
}
