package fakehub

import (
	"fmt"
	"maps"
	"time"
)

// Repo is a handle on one repository for setting up and reading, past any permission.
// Actors are given by login.
type Repo struct{ handle }

// handle reads the repository.
type handle struct {
	s *hub
	r *repo
}

// Repo returns the handle of "owner/name".
func (h *hub) Repo(name string) *Repo {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.names[key(name)]
	if r == nil {
		panic("fakehub: no repository " + name)
	}
	return &Repo{handle{s: h, r: r}}
}

// locked runs fn under the server's lock.
func (h *handle) locked(fn func()) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	fn()
}

func (h *handle) issue(number int) *issue {
	i := h.r.issues[number]
	if i == nil {
		panic(fmt.Sprintf("fakehub: no issue %d in %s", number, h.r.fullName()))
	}
	return i
}

func (h *handle) comment(id int64) *comment {
	for _, i := range h.r.issues {
		for _, m := range i.comments {
			if m.id == id {
				return m
			}
		}
	}
	panic(fmt.Sprintf("fakehub: no comment %d in %s", id, h.r.fullName()))
}

// ID is the number of the repository.
func (h *Repo) ID() int64 { return h.r.id }

// Dir is the directory of the bare repository.
func (h *Repo) Dir() string { return h.r.git.Dir }

// SetRole gives an account a role; None takes it away.
func (h *Repo) SetRole(login string, role Role) {
	_ = role.rank() // panics for a role that does not exist
	h.locked(func() { h.r.roles[h.s.user(login).id] = role })
}

// IssueSpec describes an issue to open; Labels are put on by the author.
type IssueSpec struct {
	Title, Body, Author string
	Labels              []string
}

// AddIssue opens an issue and returns its number.
func (h *Repo) AddIssue(spec IssueSpec) (number int) {
	h.locked(func() {
		author := h.s.user(spec.Author)
		i := h.s.newIssue(h.r, author, spec.Title, spec.Body)
		h.s.emitIssue("opened", i, author, nil)
		for _, name := range spec.Labels {
			h.s.putLabel(i, author, name)
		}
		number = i.number
	})
	return number
}

// EditIssue changes title and body; nil leaves one as it is.
func (h *Repo) EditIssue(number int, actor string, title, body *string) {
	h.locked(func() { h.s.edit(h.issue(number), h.s.user(actor), title, body) })
}

// CloseIssue closes an issue or pull request.
func (h *Repo) CloseIssue(number int, actor string) {
	h.locked(func() { h.s.setState(h.issue(number), h.s.user(actor), "closed", "") })
}

// ReopenIssue opens an issue or pull request again.
func (h *Repo) ReopenIssue(number int, actor string) {
	h.locked(func() { h.s.setState(h.issue(number), h.s.user(actor), "open", "") })
}

// Label puts a label on, made when missing.
func (h *Repo) Label(number int, name, actor string) {
	h.locked(func() { h.s.putLabel(h.issue(number), h.s.user(actor), name) })
}

// Unlabel takes a label off.
func (h *Repo) Unlabel(number int, name, actor string) {
	h.locked(func() { h.s.takeLabel(h.issue(number), h.s.user(actor), name) })
}

// AddLabel makes a label of the repository.
func (h *Repo) AddLabel(name string) {
	h.locked(func() { h.s.makeLabel(h.r, name) })
}

// Lock locks the conversation of an issue, or unlocks it.
func (h *Repo) Lock(number int, locked bool) {
	h.locked(func() { h.issue(number).locked = locked })
}

// DeleteIssue deletes the issue: it answers 410.
func (h *Repo) DeleteIssue(number int) {
	h.locked(func() { h.issue(number).deleted = true })
}

// Transfer moves an issue to another repository, where its number is returned; the old
// place answers 301.
func (h *Repo) Transfer(number int, to string) (moved int) {
	target := h.s.Repo(to)
	h.locked(func() {
		old := h.issue(number)
		i := h.s.newIssue(target.r, old.author, old.title, old.body)
		old.movedTo = i
		moved = i.number
	})
	return moved
}

// Comment writes a comment and returns its id.
func (h *Repo) Comment(number int, body, actor string) (id int64) {
	h.locked(func() { id = h.s.addComment(h.issue(number), h.s.user(actor), body).id })
	return id
}

// EditComment changes a comment.
func (h *Repo) EditComment(id int64, body, actor string) {
	h.locked(func() { h.s.editComment(h.comment(id), h.s.user(actor), body) })
}

// DeleteComment removes a comment.
func (h *Repo) DeleteComment(id int64, actor string) {
	h.locked(func() { h.s.dropComment(h.comment(id), h.s.user(actor)) })
}

// MinimizeComment hides a comment from readers.
func (h *Repo) MinimizeComment(id int64) {
	h.locked(func() { h.comment(id).minimized = true })
}

// Review submits a review of a pull request: APPROVED, CHANGES_REQUESTED or COMMENTED.
func (h *Repo) Review(number int, actor, state, body string, inline ...InlineComment) (id int64) {
	h.locked(func() {
		v := h.s.addReview(h.issue(number), h.s.user(actor), state, body)
		v.inline, id = inline, v.id
	})
	return id
}

// DismissReviews dismisses all reviews of a pull request.
func (h *Repo) DismissReviews(number int) {
	h.locked(func() {
		i := h.issue(number)
		for _, v := range i.pull.reviews {
			v.state = "DISMISSED"
		}
		i.touch(h.s.now())
	})
}

// Merge merges a pull request; it panics on a conflict.
func (h *Repo) Merge(number int, actor string) {
	h.locked(func() {
		if err := h.s.merge(h.issue(number), h.s.user(actor)); err != nil {
			panic(fmt.Sprintf("fakehub: merge %d: %v", number, err))
		}
	})
}

// Commit puts a commit on a branch, as a push by a person would, and returns its id.
func (h *Repo) Commit(spec CommitSpec) (sha string) {
	h.locked(func() {
		if spec.Branch == "" {
			spec.Branch = h.r.defaultBranch
		}
		var err error
		if sha, err = h.r.commit(spec, h.s.now()); err != nil {
			panic("fakehub: " + err.Error())
		}
		h.s.branchMoved(h.r, "refs/heads/"+spec.Branch, nil)
	})
	return sha
}

// DeleteBranch removes a branch, and with it what is open of it or for it.
func (h *Repo) DeleteBranch(name string) {
	h.locked(func() {
		_, err := h.r.git.Run("update-ref", "-d", "refs/heads/"+name)
		if err == nil {
			err = h.r.readRefs()
		}
		if err != nil {
			panic("fakehub: " + err.Error())
		}
		h.s.branchMoved(h.r, "refs/heads/"+name, nil)
	})
}

// RenameDefault gives the default branch another name; open pull requests for it follow.
func (h *Repo) RenameDefault(name string) {
	h.locked(func() {
		old, to := h.r.defaultBranch, "refs/heads/"+name
		for _, args := range [][]string{
			{"update-ref", to, "refs/heads/" + old}, {"symbolic-ref", "HEAD", to}, {"update-ref", "-d", "refs/heads/" + old},
		} {
			if _, err := h.r.git.Run(args...); err != nil {
				panic("fakehub: " + err.Error())
			}
		}
		h.r.defaultBranch = name
		for _, i := range h.r.issues {
			if i.pull != nil && i.state == "open" && i.pull.base == old {
				i.pull.base = name
			}
		}
		if err := h.r.readRefs(); err != nil {
			panic("fakehub: " + err.Error())
		}
	})
}

// AddCheck adds a check run to a commit and returns its id.
func (h *Repo) AddCheck(sha string, spec CheckSpec) (id int64) {
	h.locked(func() {
		k := &checkRun{id: h.s.newID(), sha: sha, spec: spec, started: h.s.now()}
		if spec.Conclusion != "" {
			k.completed = h.s.now()
		}
		h.r.checks[sha] = append(h.r.checks[sha], k)
		id = k.id
		h.s.emit(h.r, "check_suite", "completed", obj{"check_suite": obj{"head_sha": sha}})
	})
	return id
}

// AddStatus sets a commit status by another integration.
func (h *Repo) AddStatus(sha, context, state, actor string) {
	h.locked(func() {
		t := &status{id: h.s.newID(), context: context, state: state, creator: h.s.user(actor), at: h.s.now()}
		h.r.statuses[sha] = append(h.r.statuses[sha], t)
	})
}

// Require marks contexts and check names as required for a merge.
func (h *Repo) Require(names ...string) {
	h.locked(func() {
		for _, name := range names {
			h.r.required[name] = true
		}
	})
}

// SetRun adds or replaces a workflow run; RemoveRun deletes it.
func (h *Repo) SetRun(run Run) { h.locked(func() { h.r.runs[run.ID] = &run }) }

// RemoveRun deletes the run: it answers 404.
func (h *Repo) RemoveRun(id int64) { h.locked(func() { delete(h.r.runs, id) }) }

// LetActionsOpenPulls is the setting that GITHUB_TOKEN may open pull requests.
func (h *Repo) LetActionsOpenPulls(may bool) { h.locked(func() { h.r.actionsMayPR = may }) }

// Archive makes the repository read-only, or ends that.
func (h *Repo) Archive(archived bool) { h.locked(func() { h.r.archived = archived }) }

// Rename gives the repository a new name; the old one redirects.
func (h *Repo) Rename(name string) {
	h.locked(func() {
		h.r.name = name
		h.s.names[key(h.r.fullName())] = h.r
		h.s.emit(h.r, "repository", "renamed", nil)
	})
}

// MoveTo gives the repository to an account; the old name redirects.
func (h *Repo) MoveTo(owner string) {
	h.locked(func() {
		account := h.s.users[key(owner)]
		if account == nil {
			account = &user{id: h.s.newID(), login: owner, kind: "Organization"}
			h.s.users[key(owner)] = account
		}
		h.r.owner = account
		h.s.names[key(h.r.fullName())] = h.r
		h.s.emit(h.r, "repository", "transferred", nil)
	})
}

// Delete deletes the repository: it answers 404, by its id, too.
func (h *Repo) Delete() {
	h.locked(func() {
		delete(h.s.repos, h.r.id)
		maps.DeleteFunc(h.s.names, func(_ string, r *repo) bool { return r == h.r })
	})
}

// RefusePush adds rules; the first that matches a ref counts.
func (h *Repo) RefusePush(rules ...PushRule) {
	h.locked(func() { h.r.pushRules = append(h.r.pushRules, rules...) })
}

// AllowPush removes all rules.
func (h *Repo) AllowPush() { h.locked(func() { h.r.pushRules = nil }) }

// Created is when the repository was added.
func (h *Repo) Created() time.Time { return h.r.created }
