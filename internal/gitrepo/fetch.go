package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrShallow says that a clone lacks part of the history.
var ErrShallow = errors.New("the clone is shallow")

// FetchClone takes the commit that rev names in a person's clone, with its history
// and the tags that point into it, into the host repository, and returns its id. It
// stays reachable by refs/agentmux/base/<id>. ErrNoCommit if rev names none,
// ErrShallow if the clone lacks part of the history: fetch from the server then.
func (h *Host) FetchClone(ctx context.Context, clone, rev string) (string, error) {
	root, err := filepath.Abs(clone)
	if err != nil {
		return "", err
	}
	sha, err := resolve(ctx, call{dir: root}, rev)
	if err != nil {
		return "", fmt.Errorf("fetch from the clone: %w", err)
	}
	shallow, err := call{dir: root, args: []string{"rev-parse", "--is-shallow-repository"}}.text(ctx)
	if err != nil {
		return "", fmt.Errorf("fetch from the clone: %w", err)
	}
	if _, err := h.Resolve(ctx, sha); err != nil && shallow == "true" {
		return "", fmt.Errorf("fetch from the clone: %w", ErrShallow)
	}
	ref := "refs/agentmux/base/" + sha
	if have, err := h.Ref(ctx, ref); err == nil && have == sha {
		if _, err := h.Resolve(ctx, sha); err == nil {
			return sha, nil
		} // the ref is there and its object is not: fetched again
	}
	c := h.git("fetch", "-q", "--no-recurse-submodules", "--no-write-fetch-head", root, "+"+sha+":"+ref)
	c.transport = "file"
	if _, err := c.run(ctx); err != nil {
		return "", fmt.Errorf("fetch from the clone: %w", err)
	}
	return sha, nil
}

// ExportToClone makes branch in a person's clone point to sha, for a result that is
// pushed nowhere. The branch is created or fast-forwarded, never rewritten, and
// neither the checked-out branch nor the work tree is touched. The error is an *ExportError
// where the clone shows why it does not take the branch.
func (h *Host) ExportToClone(ctx context.Context, clone, branch, sha string) error {
	root, err := filepath.Abs(clone)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + branch
	if err := checkRef(ref); err != nil {
		return err
	}
	c := call{dir: root, transport: "file", args: []string{"fetch", "-q", "--no-tags", "--no-recurse-submodules",
		"--no-write-fetch-head", h.dir, sha + ":" + ref},
		config: []string{"core.alternateRefsCommand=false"}}
	if _, err := c.run(ctx); err != nil {
		return h.exportError(ctx, root, branch, sha, fmt.Errorf("export %s: %w", branch, err))
	}
	return nil
}

// Version returns the version of the installed git, such as "2.39.5".
func Version(ctx context.Context) (string, error) {
	out, err := call{dir: "/", args: []string{"version"}}.text(ctx)
	if err != nil {
		return "", err
	}
	f := strings.Fields(out)
	if len(f) < 3 {
		return "", fmt.Errorf("git version: unexpected answer %q", out)
	}
	return f[2], nil
}
