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

// place is the directory .dmux of a project, held open: what is exchanged for it later is not written to.
type place struct {
	*os.Root
	project string
}

// openPlace opens .dmux of a project. The error is fs.ErrNotExist if there is none, and errForeignSignals if it is
// not a directory, such as a link that a repository brings along.
func openPlace(project string) (*place, error) {
	at := filepath.Join(project, filepath.Dir(SignalsLink))
	there, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil || !there.IsDir() {
		return nil, errForeignSignals
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return nil, errForeignSignals
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(there, opened) {
		return nil, errors.Join(errForeignSignals, root.Close())
	}
	return &place{root, project}, nil
}

// target returns where a link in the place leads to; "" if there is none. It fails if that is not one of ours.
func (p *place) target(name string) (string, error) {
	target, err := p.Readlink(name)
	switch below, relErr := filepath.Rel(session.Dir(p.project), target); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil, relErr != nil, !filepath.IsAbs(target), !filepath.IsLocal(below), filepath.Base(target) != team.Signals, filepath.Dir(filepath.Dir(below)) != ".":
		return "", errForeignSignals
	}
	return target, nil
}

// remove takes the link away if it is still one of ours. What came into its place meanwhile is put back.
func (p *place) remove() error {
	name := filepath.Base(SignalsLink)
	aside := fmt.Sprintf("%s.tmp-%d", name, os.Getpid())
	if err := p.Rename(name, aside); err != nil {
		return err
	}
	if _, err := p.target(aside); err != nil {
		return errors.Join(err, p.Rename(aside, name))
	}
	return p.Remove(aside)
}

// ourSignals returns where the link of a project leads to; "" if there is none. It fails if
// something else is in its place, also if a repository brings it along.
func ourSignals(project string) (target string, err error) {
	p, err := openPlace(project)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }() // only read
	return p.target(filepath.Base(SignalsLink))
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
	if err := os.Mkdir(filepath.Join(project, filepath.Dir(SignalsLink)), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	p, err := openPlace(project)
	if err != nil {
		return nil //nolint:nilerr // it was exchanged since, and stays
	}
	defer func() { _ = p.Close() }() // nothing is buffered
	return p.put(sess.Path(team.Signals))
}

// put makes the link, in place of another one of ours. What else is there stays.
func (p *place) put(to string) error {
	target, err := p.target(filepath.Base(SignalsLink))
	if err == nil && target != "" {
		err = p.remove()
	}
	if err == nil {
		err = p.Symlink(to, filepath.Base(SignalsLink)) // replaces nothing
	}
	if errors.Is(err, errForeignSignals) || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Unlink removes the link to the markers of a session, and its directory if that is empty.
func Unlink(sess *session.Session) {
	p, err := openPlace(sess.Project())
	if err != nil {
		return
	}
	defer func() { _ = p.Close() }() // nothing is buffered
	if target, err := p.target(filepath.Base(SignalsLink)); err != nil || target != sess.Path(team.Signals) {
		return
	}
	_ = p.remove()                                                          // a link without a target says nothing wrong
	_ = os.Remove(filepath.Join(sess.Project(), filepath.Dir(SignalsLink))) // stays if anything else is in it
}
