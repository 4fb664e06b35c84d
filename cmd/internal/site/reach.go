package site

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// reach is where a command finds sessions: in its project, then in what the bot has of the same
// repository, and those that are named in full in all the rest of the bot.
type reach struct {
	own  string            // directory of the project
	near []project.Managed // of the repository of the clone's origin; outside of any project all of the bot's
	far  []project.Managed
}

// reach finds out where to look. Without a bot on this machine it does not ask git.
func (f *Finder) reach(ctx context.Context) (reach, error) {
	dir, err := f.ProjectDir()
	if err != nil {
		return reach{}, err
	}
	r := reach{own: dir, far: slices.DeleteFunc(project.ListManaged(StateHome()), func(m project.Managed) bool { return m.Dir == dir })}
	if len(r.far) == 0 {
		return r, nil
	}
	if !isProject(dir) {
		r.near, r.far = r.far, nil
		return r, nil
	}
	at, err := clone.Locate(ctx, dir)
	if err != nil {
		return r, nil //nolint:nilerr // what is not a clone has no origin
	}
	all := r.far
	r.far = nil
	for _, m := range all {
		if m.IsOrigin(at.Origin) {
			r.near = append(r.near, m)
		} else {
			r.far = append(r.far, m)
		}
	}
	return r, nil
}

// isProject reports whether a directory is one that sessions may lie in.
func isProject(dir string) bool {
	return slices.ContainsFunc([]string{".git", ".agentmux"}, func(mark string) bool {
		_, err := os.Lstat(filepath.Join(dir, mark))
		return err == nil
	})
}

// sessionsOf lists the sessions of managed projects.
func sessionsOf(projects []project.Managed) ([]session.Entry, error) {
	var all []session.Entry
	for _, m := range projects {
		entries, err := session.List(m.Dir)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// Sessions lists the sessions that a command can mean without saying which: those of the project
// and those that the bot has of its repository; outside of any project all of the bot.
func (f *Finder) Sessions(ctx context.Context) ([]session.Entry, error) {
	r, err := f.reach(ctx)
	if err != nil {
		return nil, err
	}
	own, near, err := r.list()
	return append(own, near...), err
}

// Of lists the sessions of the project, and those that the bot has of a repository.
func (f *Finder) Of(ctx context.Context, repo string) ([]session.Entry, error) {
	r, err := f.reach(ctx)
	if err != nil {
		return nil, err
	}
	own, err := session.List(r.own)
	if err != nil {
		return nil, err
	}
	near, err := sessionsOf(r.called(repo))
	return append(own, near...), err
}

// Known is Sessions, with those of the other repositories of the bot apart.
func (f *Finder) Known(ctx context.Context) (near, far []session.Entry, err error) {
	r, err := f.reach(ctx)
	if err != nil {
		return nil, nil, err
	}
	own, near, err := r.list()
	if err == nil {
		far, err = sessionsOf(r.far)
	}
	return append(own, near...), far, err
}

func (r reach) list() (own, near []session.Entry, err error) {
	if own, err = session.List(r.own); err == nil {
		near, err = sessionsOf(r.near)
	}
	return own, near, err
}

// Find returns the session that args name, see [session.Find]. Sessions of the bot count, too: in
// a clone those of the repository of its origin, after its own; outside of any project all; and
// everywhere the one with exactly this name, and the newest one of owner/repo#N. Without a name it
// is the only one for which can is true.
func (f *Finder) Find(ctx context.Context, args []string, can func(session.Entry) bool) (session.Entry, error) {
	arg := ""
	if len(args) > 0 {
		arg = args[0]
	}
	r, err := f.reach(ctx)
	if err != nil {
		return session.Entry{}, err
	}
	if len(r.near)+len(r.far) == 0 {
		return session.Find(r.own, arg, can)
	}
	if e, ok := session.At(r.own, arg); ok {
		return e, nil
	}
	if e, ok, err := r.named(arg); ok || err != nil {
		return e, err
	}
	e, err := r.meant(arg, can)
	if exit.As[*session.NotFoundError](err) {
		if queued := r.queued(arg); queued != nil {
			err = queued
		}
	}
	return e, err
}

// listAll lists what Find searches.
const listAll = "agentmux sessions --all"

// called returns the session of a project that has exactly a name, and reads no other one.
func called(project, name string) (session.Entry, bool) {
	if !session.ValidName(name) || session.CheckLinks(project) != nil {
		return session.Entry{}, false
	}
	return session.At(project, filepath.Join(session.Dir(project), name))
}

// named returns the session with exactly a name. The nearest one counts.
func (r reach) named(name string) (session.Entry, bool, error) {
	if e, ok := called(r.own, name); ok {
		return e, true, nil
	}
	for _, projects := range [][]project.Managed{r.near, r.far} {
		var found []session.Entry
		for _, m := range projects {
			if e, ok := called(m.Dir, name); ok {
				found = append(found, e)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], true, nil
		default:
			return session.Entry{}, false, ambiguous(name, found)
		}
	}
	return session.Entry{}, false, nil
}

// issueOf takes an issue apart that session.Among understands. The number is 0 for anything else.
func issueOf(arg string) (repo string, number int) {
	repo, digits, marked := strings.Cut(arg, "#")
	if !marked {
		repo, digits = "", arg
	}
	number, _ = strconv.Atoi(digits)
	return repo, number
}

// meant returns the session that a text means which is not the name of one.
func (r reach) meant(arg string, can func(session.Entry) bool) (session.Entry, error) {
	own, err := session.List(r.own)
	if err != nil {
		return session.Entry{}, err
	}
	own = session.Among(own, arg)
	repo, number := issueOf(arg)
	ofRepo := repo != "" && number > 0
	places := r.near
	if ofRepo {
		places = r.called(repo)
		arg = fmt.Sprintf("#%d", number) // whatever it was called when the session was made
	}
	var near []session.Entry
	for _, m := range places {
		found, err := among(m.Dir, arg)
		if err != nil {
			return session.Entry{}, err
		}
		near = append(near, found...)
	}
	if ofRepo {
		return newest(repo+arg, slices.Concat(own, near), can)
	}
	return choose(arg, own, near, can)
}

// called are the managed projects of a repository with this name.
func (r reach) called(repo string) []project.Managed {
	return slices.DeleteFunc(slices.Concat(r.near, r.far), func(m project.Managed) bool { return !m.Called(repo) })
}

// among is session.Among for a managed project, which may have thousands of sessions. The bot names
// them after their issues: the others need not be read.
func among(dir, arg string) ([]session.Entry, error) {
	if _, number := issueOf(arg); number > 0 {
		var named []session.Entry
		files, _ := os.ReadDir(session.Dir(dir)) // List says what is wrong
		for _, f := range files {
			if strings.Contains(f.Name()+"-", fmt.Sprintf("-issue-%d-", number)) {
				if e, ok := called(dir, f.Name()); ok {
					named = append(named, e)
				}
			}
		}
		if found := session.Among(named, arg); len(found) > 0 {
			return found, nil
		}
	}
	entries, err := session.List(dir)
	return session.Among(entries, arg), err
}

// choose returns the session that is meant of those of the project and of those of the bot. Who
// only looks at one gets that of the project; who tells one something is asked which.
func choose(arg string, own, near []session.Entry, can func(session.Entry) bool) (session.Entry, error) {
	all := slices.Concat(own, near)
	if arg != "" && len(all) == 1 {
		return all[0], nil // the command says what it lacks
	}
	fits := own
	switch {
	case can != nil:
		fits = fitting(all, can)
	case len(own) == 0:
		fits = near
	}
	switch len(fits) {
	case 0:
		return session.Entry{}, &session.NotFoundError{What: arg, Unfit: len(all), Lists: listAll}
	case 1:
		return fits[0], nil
	}
	return session.Entry{}, ambiguous(arg, fits)
}

// newest returns the newest of the sessions that fits; if none does, the newest one, so that the
// command says what it lacks.
func newest(arg string, found []session.Entry, can func(session.Entry) bool) (session.Entry, error) {
	if len(found) == 0 {
		return session.Entry{}, &session.NotFoundError{What: arg, Lists: listAll}
	}
	if fits := fitting(found, can); len(fits) > 0 {
		found = fits
	}
	return slices.MaxFunc(found, func(a, b session.Entry) int { return a.State.CreatedAt.Compare(b.State.CreatedAt.Time) }), nil
}

func fitting(entries []session.Entry, can func(session.Entry) bool) []session.Entry {
	return slices.DeleteFunc(slices.Clone(entries), func(e session.Entry) bool { return can != nil && !can(e) })
}

// ambiguous names the candidates so that each name means one.
func ambiguous(arg string, found []session.Entry) error {
	times, names := map[string]int{}, []string{}
	for _, e := range found {
		times[e.Name]++
	}
	for _, e := range found {
		if times[e.Name] > 1 {
			names = append(names, e.Dir)
		} else {
			names = append(names, e.Name)
		}
	}
	return &session.AmbiguousError{What: arg, Candidates: names}
}

// queued says that an issue has no session because it waits for its turn; nil if it does not.
func (r reach) queued(arg string) error {
	repo, number := issueOf(arg)
	if number == 0 {
		return nil
	}
	places := r.near
	if repo != "" {
		places = r.called(repo)
	}
	queue, err := QueueOf(places)
	if err != nil {
		return nil //nolint:nilerr // what was not found is said
	}
	for _, t := range queue.Tickets {
		if t.Issue == number {
			return exit.Usage(&QueuedError{t})
		}
	}
	return nil
}
