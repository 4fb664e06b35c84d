package intake

import (
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux/ghsync"
)

// memory is what a poller has seen of one list, by the ids of its entries. It holds the entries
// that changed last, which are those that a list shows first.
type memory struct {
	seen map[int64]sight
	read bool // the list was read before
}

// maxMemory is more than what a page holds several times.
const maxMemory = 400

// sight is one entry as it was seen.
type sight struct {
	updated time.Time // by the server, in whole seconds
	sum     uint64    // of all else, because two changes may have the same second
}

// isNew reports whether an entry is new or changed. An older state than the known one is that of
// a replica that lags.
func (m *memory) isNew(id int64, now sight) bool {
	known, ok := m.seen[id]
	return !ok || now.updated.After(known.updated) || now.updated.Equal(known.updated) && now.sum != known.sum
}

// keep notes entries that were handed on.
func (m *memory) keep(fresh map[int64]sight) {
	if m.seen == nil {
		m.seen = map[int64]sight{}
	}
	for id, s := range fresh {
		m.seen[id] = s
	}
	m.read = true
	if len(m.seen) <= maxMemory {
		return
	}
	ids := make([]int64, 0, len(m.seen))
	for id := range m.seen {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int64) int { return m.seen[b].updated.Compare(m.seen[a].updated) })
	for _, id := range ids[maxMemory:] {
		delete(m.seen, id)
	}
}

// seed is of this process, so that texts cannot be chosen for their sum.
var seed = maphash.MakeSeed()

func sum(parts ...string) uint64 {
	return maphash.String(seed, strings.Join(parts, "\x00"))
}

func issueSight(i ghsync.Issue) (int64, sight) {
	parts := []string{string(i.Title), string(i.Body), i.Author.Login, strconv.FormatBool(i.Closed), strconv.FormatBool(i.Locked)}
	return int64(i.Number), sight{i.UpdatedAt, sum(append(parts, slices.Sorted(slices.Values(i.Labels))...)...)} // labels have no order
}

func commentSight(c ghsync.IssueComment) (int64, sight) {
	return c.ID, sight{c.EditedAt, sum(string(c.Body))}
}

func pullSight(p ghsync.OpenPull) (int64, sight) {
	return int64(p.Number), sight{p.UpdatedAt, sum(p.Head, p.Branch)}
}
