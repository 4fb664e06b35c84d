package roster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/team"
)

// SignalsLink is where dmux keeps the markers of agents, below the project. Files and scripts that
// were written for it look there.
const SignalsLink = ".dmux/signals"

// errForeignSignals says that something lies at the place of the link that we did not make.
var errForeignSignals = errors.New("is not a link that agentmux made")

// SignalsNote tells of what lies at .dmux/signals of a project and does not count for the next
// run: markers of another one. "" if there is nothing.
func SignalsNote(project string) string {
	dir := filepath.Join(project, filepath.FromSlash(SignalsLink))
	found, _ := filepath.Glob(filepath.Join(dir, "*.done"))
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	_, err := ourSignals(project)
	switch {
	case errors.Is(err, errForeignSignals):
		return fmt.Sprintf("%s %v: markers made there do not count", dir, err)
	case len(found) > 0:
		return fmt.Sprintf("%s holds markers of another run, which do not count: %s", dir, strings.Join(found, ", "))
	}
	return ""
}

// ourSignals returns where the link of a project leads to; "" if there is none. It fails if
// something else is in its place, also if a repository brings it along.
func ourSignals(project string) (target string, err error) {
	if info, err := os.Lstat(filepath.Join(project, ".dmux")); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil || !info.IsDir() {
		return "", errForeignSignals
	}
	target, err = os.Readlink(filepath.Join(project, filepath.FromSlash(SignalsLink)))
	switch below, relErr := filepath.Rel(session.Dir(project), target); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil, relErr != nil, !filepath.IsAbs(target), !filepath.IsLocal(below), filepath.Base(target) != team.Signals, filepath.Dir(filepath.Dir(below)) != ".":
		return "", errForeignSignals
	}
	return target, nil
}

// Link has .dmux/signals of the person's project, in the clone with that root, lead to the markers
// of the run, unless something else is there.
func Link(ctx context.Context, sess *session.Session, root string) error {
	project := sess.Project()
	target, err := ourSignals(project)
	if err != nil || target == sess.Path(team.Signals) {
		return nil // what is there stays; the command that starts the run tells of it
	}
	below, err := filepath.Rel(root, project)
	if err != nil || !filepath.IsLocal(below) {
		return err
	}
	if err := clone.Exclude(ctx, root, filepath.ToSlash(filepath.Join(below, SignalsLink))); err != nil {
		return err
	}
	link := filepath.Join(project, filepath.FromSlash(SignalsLink))
	if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	temp := fmt.Sprintf("%s.tmp-%d", link, os.Getpid())
	if err := os.Symlink(sess.Path(team.Signals), temp); err != nil {
		return err
	}
	return os.Rename(temp, link)
}

// Unlink removes the link to the markers of a session, and its directory if that is empty.
func Unlink(sess *session.Session) {
	if target, err := ourSignals(sess.Project()); err != nil || target != sess.Path(team.Signals) {
		return
	}
	link := filepath.Join(sess.Project(), filepath.FromSlash(SignalsLink))
	_ = os.Remove(link)               // a link without a target says nothing wrong
	_ = os.Remove(filepath.Dir(link)) // stays if anything else is in it
}
