package fakehub

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux/ghsync/fakehub/session"
)

// Sessions tells the server of a directory with session directories. From then on each
// comment, pull request and pushed branch of one of them must have its intent on that
// directory's disk when it arrives, and Check compares what is on GitHub with the
// session's records:
//
//	I3  a status or a phase line of a phase that was not entered, or out of order; a
//	    comment whose record says something else
//	I4  a status of a session that is shown whole that says another outcome, or lacks the
//	    phase entered last
//	I5  a write without an earlier intent
//	I9  a session that ended and is shown whole without exactly the label of its outcome
//
// A session made later counts, too; other directories are left alone.
func (a *audit) Sessions(dir string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessionDirs = append(a.sessionDirs, dir)
}

// sessionDir finds the directory of a session, "" without one.
func (a *audit) sessionDir(id string) string {
	if id == "" || id != filepath.Base(id) {
		return ""
	}
	for _, dir := range slices.Backward(a.sessionDirs) { // a session that another machine continues is there as well
		if _, err := os.Stat(filepath.Join(dir, id, "state.json")); err == nil {
			return filepath.Join(dir, id)
		}
	}
	return ""
}

// judgeIntent notes a write of a session that its directory does not know of. text is a
// comment's, its marker included.
func (a *audit) judgeIntent(id, route, text string) {
	dir := a.sessionDir(id)
	if dir == "" {
		return
	}
	announced, err := session.Announced(dir, route, text)
	switch {
	case err != nil:
		a.unannounced = append(a.unannounced, fmt.Sprintf("%s of %s: %v", route, id, err))
	case !announced:
		a.unannounced = append(a.unannounced, fmt.Sprintf("%s of %s came without an intent", route, id))
	}
}

// sessionProblems compares what is on GitHub with the sessions' files.
func (a *audit) sessionProblems() []string {
	var problems []string
	for _, write := range a.unannounced {
		problems = append(problems, "I5: "+write)
	}
	for _, id := range slices.Sorted(maps.Keys(a.repos)) {
		r := a.repos[id]
		for name, comments := range r.commentsBySession() {
			dir := a.sessionDir(name)
			if dir == "" {
				continue
			}
			f, err := session.Read(dir)
			if err != nil {
				problems = append(problems, fmt.Sprintf("read session %s: %v", name, err))
				continue
			}
			for _, m := range comments {
				if problem := f.Comment(m.body); problem != "" {
					problems = append(problems, fmt.Sprintf("I3: %s: comment %d: %s", r.fullName(), m.id, problem))
				}
				if problem := f.Status(m.id, m.body); problem != "" {
					problems = append(problems, fmt.Sprintf("I4: %s: comment %d: %s", r.fullName(), m.id, problem))
				}
			}
			if i := r.issues[f.Issue()]; i != nil {
				if problem := f.Labels(i.labelNames()); problem != "" {
					problems = append(problems, "I9: "+r.fullName()+": "+problem)
				}
			}
		}
	}
	return problems
}

func (r *repo) commentsBySession() map[string][]*comment {
	found := map[string][]*comment{}
	for _, number := range slices.Sorted(maps.Keys(r.issues)) {
		for _, m := range r.issues[number].comments {
			if k, has := session.MarkerOf(m.body); has {
				found[k.Session] = append(found[k.Session], m)
			}
		}
	}
	return found
}
