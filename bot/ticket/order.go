package ticket

import (
	"cmp"
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
	rest := make([]*Ticket, 0, len(tickets))
	for i := range tickets {
		rest = append(rest, &tickets[i])
	}
	slices.SortFunc(rest, older)
	repos := u.lines(rest)
	ordered := make([]Ticket, 0, len(rest))
	for n := u.n; len(repos) > 0; {
		at := first(repos, func(l *repoLine) (int, *Ticket) { return l.turn, l.oldest() })
		repo := repos[at]
		who := first(repo.people, func(l *personLine) (int, *Ticket) { return l.turn, l.tickets[0] })
		person := repo.people[who]
		n++
		repo.turn, person.turn = n, n
		ordered = append(ordered, *person.tickets[0])
		if person.tickets = person.tickets[1:]; len(person.tickets) == 0 {
			repo.people = slices.Delete(repo.people, who, who+1)
		}
		if len(repo.people) == 0 {
			repos = slices.Delete(repos, at, at+1)
		}
	}
	return ordered
}

// older sorts by the time of the request, then by what never changes.
func older(a, b *Ticket) int {
	return cmp.Or(a.Requested.Compare(b.Requested), cmp.Compare(a.RepoID, b.RepoID), cmp.Compare(a.Issue, b.Issue))
}

// repoLine is a repository with tickets, and the number of its last turn.
type repoLine struct {
	turn   int
	people []*personLine
}

// personLine are the tickets of a person in a repository, the oldest first, and the number of the
// last turn of the person. There is at least one ticket.
type personLine struct {
	turn    int
	tickets []*Ticket
}

// oldest is the ticket of a repository that waits for longest.
func (l *repoLine) oldest() *Ticket {
	least := l.people[0].tickets[0]
	for _, p := range l.people[1:] {
		if older(p.tickets[0], least) < 0 {
			least = p.tickets[0]
		}
	}
	return least
}

// lines puts sorted tickets into lines by repository and person.
func (u *Turns) lines(sorted []*Ticket) (repos []*repoLine) {
	byRepo, byActor := map[int64]*repoLine{}, map[actor]*personLine{}
	for _, t := range sorted {
		repo, person := byRepo[t.RepoID], byActor[actorOf(*t)]
		if repo == nil {
			repo = &repoLine{turn: u.repos[t.RepoID]}
			byRepo[t.RepoID], repos = repo, append(repos, repo)
		}
		if person == nil {
			person = &personLine{turn: u.actors[actorOf(*t)]}
			byActor[actorOf(*t)], repo.people = person, append(repo.people, person)
		}
		person.tickets = append(person.tickets, t)
	}
	return repos
}

// first is the index of the line whose turn is next; of tells its last turn and its oldest ticket.
func first[L any](lines []L, of func(L) (int, *Ticket)) (at int) {
	turn, oldest := of(lines[0])
	for i, l := range lines[1:] {
		if n, t := of(l); n < turn || n == turn && older(t, oldest) < 0 {
			at, turn, oldest = i+1, n, t
		}
	}
	return at
}
