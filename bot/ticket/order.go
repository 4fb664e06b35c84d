package ticket

import (
	"cmp"
	"maps"
	"slices"
)

// Turns remembers who got a slot last, so that nobody is passed over. The zero value remembers
// nothing. It is not safe for concurrent use.
type Turns struct {
	n      int
	repos  map[int64]int // repository -> number of its last turn
	actors map[actor]int
}

// actor is a person in a repository.
type actor struct{ repo, id int64 }

func actorOf(t Ticket) actor { return actor{t.RepoID, t.Actor.ID} }

// Took notes that a ticket got a slot.
func (u *Turns) Took(t Ticket) {
	if u.repos == nil {
		u.repos, u.actors = map[int64]int{}, map[actor]int{}
	}
	u.n++
	u.repos[t.RepoID], u.actors[actorOf(t)] = u.n, u.n
}

// Order sorts tickets by when they get their slots: the repositories in turn, in each the people
// in turn, of each person the oldest request first. Who had no turn for longest is first; between
// equals the older request is.
func Order(tickets []Ticket, u Turns) []Ticket {
	turns := Turns{n: u.n, repos: maps.Clone(u.repos), actors: maps.Clone(u.actors)}
	rest := slices.Clone(tickets)
	slices.SortFunc(rest, older)
	queues := map[int64]people{}
	for _, t := range rest {
		if queues[t.RepoID] == nil {
			queues[t.RepoID] = people{}
		}
		queues[t.RepoID][t.Actor.ID] = append(queues[t.RepoID][t.Actor.ID], t)
	}
	ordered := make([]Ticket, 0, len(rest))
	for len(queues) > 0 {
		t := turns.next(queues)
		turns.Took(t)
		ordered = append(ordered, t)
		q := queues[t.RepoID]
		if q[t.Actor.ID] = q[t.Actor.ID][1:]; len(q[t.Actor.ID]) == 0 {
			delete(q, t.Actor.ID)
		}
		if len(q) == 0 {
			delete(queues, t.RepoID)
		}
	}
	return ordered
}

// older sorts by the time of the request, then by what never changes.
func older(a, b Ticket) int {
	return cmp.Or(a.Requested.Compare(b.Requested), cmp.Compare(a.RepoID, b.RepoID), cmp.Compare(a.Issue, b.Issue))
}

// people are the tickets of a repository by who asked, the oldest first. No queue is empty.
type people map[int64][]Ticket

// oldest is the ticket that waits for longest.
func (p people) oldest() Ticket {
	var first Ticket
	for _, q := range p {
		if first.Issue == 0 || older(q[0], first) < 0 {
			first = q[0]
		}
	}
	return first
}

// next is the ticket whose turn it is.
func (u *Turns) next(queues map[int64]people) Ticket {
	var of Ticket // the oldest one of the repository whose turn it is
	for repo, p := range queues {
		if t := p.oldest(); of.Issue == 0 || cmp.Or(cmp.Compare(u.repos[repo], u.repos[of.RepoID]), older(t, of)) < 0 {
			of = t
		}
	}
	var next Ticket
	for _, q := range queues[of.RepoID] {
		if t := q[0]; next.Issue == 0 || cmp.Or(cmp.Compare(u.actors[actorOf(t)], u.actors[actorOf(next)]), older(t, next)) < 0 {
			next = t
		}
	}
	return next
}
