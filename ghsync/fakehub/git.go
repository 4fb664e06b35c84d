package fakehub

import (
	"time"

	"github.com/agentmux/agentmux/ghsync/fakehub/bare"
)

// commit puts a commit on a branch and returns its id.
func (r *repo) commit(spec CommitSpec, at time.Time) (string, error) {
	branch := "refs/heads/" + spec.Branch
	err := r.git.Commit(bare.Commit{
		Ref: branch, Parent: r.parentOf(branch, spec.From), Author: spec.Author, Message: spec.Message, Files: spec.Files, At: at,
	})
	if err != nil {
		return "", err
	}
	if err := r.readRefs(); err != nil {
		return "", err
	}
	return r.refs[branch], nil
}

// parentOf is where a commit on branch starts.
func (r *repo) parentOf(branch, from string) string {
	if sha := r.refs[branch]; sha != "" && from == "" {
		return sha
	}
	if from == "" {
		from = r.defaultBranch
	}
	if sha := r.refs["refs/heads/"+from]; sha != "" {
		return sha
	}
	if len(from) == 40 && from != "" {
		return from
	}
	return ""
}

// readRefs refreshes what the server knows of the refs.
func (r *repo) readRefs() error {
	refs, err := r.git.Refs()
	if err != nil {
		return err
	}
	r.refs = refs
	return nil
}
