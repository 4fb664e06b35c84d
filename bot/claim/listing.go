package claim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

const (
	claimRefs = "refs/agentmux/claims/"
	hostRefs  = "refs/agentmux/hosts/"
)

func claimRef(issue int) string  { return claimRefs + strconv.Itoa(issue) }
func hostRef(host HostID) string { return hostRefs + string(host) }

// issueOf reads the name of a claim's ref.
func issueOf(ref string) (int, bool) {
	number, isClaim := strings.CutPrefix(ref, claimRefs)
	issue, err := strconv.Atoi(number)
	return issue, isClaim && err == nil && issue > 0 && strconv.Itoa(issue) == number
}

// listing is what the server had when it was asked last, and what this desk made of it since. It
// is guarded by the lock of the desk.
type listing struct {
	repoID int64
	claims map[int]string // issue to commit
	hosts  map[HostID]string
	texts  map[string]Seen          // what commits say, if they were read; the issue of one is not to be trusted
	made   map[int]map[string]Claim // by issue and commit: what this desk pushed, or tried to

	begun, done int   // how many times it was asked; the last time that was answered
	err         error // of the last time
}

func newListing(repoID int64) listing {
	return listing{
		repoID: repoID, claims: map[int]string{}, hosts: map[HostID]string{}, texts: map[string]Seen{}, made: map[int]map[string]Claim{},
	}
}

// replace makes the server's refs the listing.
func (l *listing) replace(refs []remote.Ref) {
	clear(l.claims)
	clear(l.hosts)
	used := map[string]bool{}
	for _, ref := range refs {
		if issue, isClaim := issueOf(ref.Name); isClaim {
			l.claims[issue] = ref.ID
			used[ref.ID] = true
		} else if name, isHost := strings.CutPrefix(ref.Name, hostRefs); isHost {
			if host, err := ParseHostID(name); err == nil {
				l.hosts[host] = ref.ID
			}
		}
	}
	for id := range l.texts {
		if !used[id] {
			delete(l.texts, id)
		}
	}
}

// put notes where the claim of an issue is.
func (l *listing) put(issue int, id string) {
	if id == "" {
		delete(l.claims, issue)
		return
	}
	l.claims[issue] = id
	if c, ours := l.made[issue][id]; ours {
		l.texts[id] = Seen{Issue: issue, ID: id, Claim: c}
	}
}

// remember notes a commit as ours.
func (l *listing) remember(c Claim, id string) {
	if l.made[c.Issue] == nil {
		l.made[c.Issue] = map[string]Claim{}
	}
	l.made[c.Issue][id] = c
}

// isMade reports whether a commit is a claim of ours.
func (l *listing) isMade(issue int, id string) bool {
	_, ours := l.made[issue][id]
	return ours
}

// unread returns those of some commits whose texts are not known.
func (l *listing) unread(ids []string) []string {
	return slices.DeleteFunc(slices.Compact(ids), func(id string) bool {
		_, known := l.texts[id]
		return known || id == ""
	})
}

// read notes the texts of commits. One without a text is not a claim.
func (l *listing) read(ids []string, texts map[string]string) {
	for _, id := range ids {
		s := Seen{ID: id}
		if text, there := texts[id]; there {
			s.Claim, s.Problem = ParseClaim(text)
		} else {
			s.Problem = errors.New("it is not a line of text")
		}
		if s.Problem == nil && s.Claim.RepoID != l.repoID {
			s = Seen{ID: id, Problem: fmt.Errorf("it is of the repository with the id %d", s.Claim.RepoID)}
		}
		l.texts[id] = s
	}
}

// seen is the claim of an issue.
func (l *listing) seen(issue int) (Seen, bool) {
	id, there := l.claims[issue]
	if !there {
		return Seen{Issue: issue}, false
	}
	s, read := l.texts[id]
	switch {
	case !read:
		s = Seen{Problem: fmt.Errorf("its commit %s cannot be read", id)}
	case s.Problem == nil && s.Claim.Issue != issue:
		s = Seen{Problem: fmt.Errorf("it is the claim of issue %d", s.Claim.Issue)}
	}
	s.Issue, s.ID = issue, id
	return s, true
}
