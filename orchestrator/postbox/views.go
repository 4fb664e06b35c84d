package postbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/workflows/message"
)

// maxShown is how many messages that wait or are not confirmed a queue shows: those that came first.
const maxShown = 1000

// Queue is queues/<mesh>-queue.json: the messages to the agents of a mesh, in the order in which the
// session took them. What was rejected was never in it.
type Queue struct {
	Version int                    `json:"version"`
	Entries []orchestrator.Message `json:"entries"`           // as in the state
	Omitted int                    `json:"omitted,omitempty"` // how many more wait
}

// Offset is offsets/<mesh>-<agent>.json: how far an agent is with its messages. Delivery is by priority,
// so later ones may have ended, too.
type Offset struct {
	Agent string            `json:"agentId"` // mesh/agent
	Last  orchestrator.Time `json:"lastProcessedTimestamp"`
	At    orchestrator.Time `json:"updatedAt"`
	Seq   int               `json:"lastSeq"`
}

// Views shows the queue of each mesh and the offset of each reader as files, for people and for programs
// that know those of TX. They are derived from the state and the log of what has ended, nothing is decided
// by them, and each may be removed at any time: a host writes them when it begins.
type Views struct {
	Queues, Offsets string // their directories, which are made
	Archive         *Archive

	shown map[string]string // hash of what a file says, by its path; "" = unknown
}

// Show writes the files that do not say what became of these messages, which the state holds. What fails
// is written by the next call.
func (v *Views) Show(list []orchestrator.Message, now time.Time) error {
	if v.shown == nil {
		v.shown = map[string]string{}
		v.find(v.Queues)
		v.find(v.Offsets)
	}
	failed := []error{v.Archive.read()} // without it the state alone is shown
	readers := maps.Clone(v.Archive.readers)
	if readers == nil {
		readers = map[string]reader{}
	}
	for i := range list {
		if m := &list[i]; queued(m) {
			r := readers[m.To]
			r.take(m, now)
			readers[m.To] = r
		}
	}
	queues := queuesOf(list, readers)
	queueFiles := fileNames(v.Queues, slices.Sorted(maps.Keys(queues)), "-queue")
	offsetFiles := fileNames(v.Offsets, slices.Sorted(maps.Keys(readers)), "")
	failed = append(failed, v.tidy(slices.Concat(slices.Collect(maps.Values(queueFiles)), slices.Collect(maps.Values(offsetFiles)))))
	for mesh, file := range queueFiles {
		failed = append(failed, v.write(file, queues[mesh], queues[mesh]))
	}
	for address, file := range offsetFiles {
		r := readers[address]
		said := r.offset(address)
		told := said
		told.At = orchestrator.At(now)
		failed = append(failed, v.write(file, said, told))
	}
	return errors.Join(failed...)
}

// tidy removes the files that are not among those of now: two readers may have changed their names.
func (v *Views) tidy(files []string) error {
	var failed []error
	for file := range v.shown {
		if !slices.Contains(files, file) {
			delete(v.shown, file)
			failed = append(failed, durable.Remove(file))
		}
	}
	return errors.Join(failed...)
}

// find finds what an earlier host left in a directory.
func (v *Views) find(dir string) {
	entries, _ := os.ReadDir(dir) // where that fails, so does writing there
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) == ".json" {
			v.shown[filepath.Join(dir, e.Name())] = ""
		}
	}
}

// queuesOf returns the queue of each mesh that has readers.
func queuesOf(list []orchestrator.Message, readers map[string]reader) map[string]*Queue {
	queues, waits := map[string]*Queue{}, map[string]int{}
	for address := range readers {
		queues[meshOf(address)] = &Queue{Version: 1, Entries: []orchestrator.Message{}}
	}
	for i := range list {
		m := &list[i]
		if !queued(m) {
			continue
		}
		mesh := meshOf(m.To)
		if waiting(m) {
			waits[mesh]++
		}
		if q := queues[mesh]; waiting(m) && waits[mesh] > maxShown {
			q.Omitted++
		} else {
			q.Entries = append(q.Entries, *m)
		}
	}
	return queues
}

// write makes content that of a file, if it says something else than what was written last.
func (v *Views) write(file string, said, content any) error {
	data, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("show messages: %w", err)
	}
	sum := hash(data)
	if v.shown[file] == sum {
		return nil
	}
	if data, err = json.MarshalIndent(content, "", "  "); err != nil {
		return fmt.Errorf("show messages: %w", err)
	}
	err = durable.View(file, append(data, '\n'))
	if errors.Is(err, fs.ErrNotExist) { // not with its parents: somebody may have removed the session
		if err = durable.Mkdir(filepath.Dir(file)); err == nil || errors.Is(err, fs.ErrExist) {
			err = durable.View(file, append(data, '\n'))
		}
	}
	if err != nil {
		return fmt.Errorf("show messages: %w", err)
	}
	v.shown[file] = sum
	return nil
}

// reader is what is known of the messages to one address.
type reader struct {
	newest, oldest mark // of all; of those that wait or are not confirmed
	waits          bool
}

// mark is a place in the order of messages: the stamp of a name, and a number.
type mark struct {
	at  time.Time // unset if no name has a stamp
	seq int
}

func (r *reader) take(m *orchestrator.Message, now time.Time) {
	at := stamp(m.File, now)
	if r.newest.seq = max(r.newest.seq, m.Seq); at.After(r.newest.at) {
		r.newest.at = at
	}
	if !waiting(m) {
		return
	}
	if !r.waits || m.Seq < r.oldest.seq {
		r.oldest.seq = m.Seq
	}
	if r.oldest.at.IsZero() || !at.IsZero() && at.Before(r.oldest.at) {
		r.oldest.at = at
	}
	r.waits = true
}

// offset says how far the reader is: just before the first message that waits or is not confirmed, else
// at the last message. Programs that take up to a stamp as read then leave none out.
func (r *reader) offset(address string) Offset {
	o := Offset{Agent: address, Last: orchestrator.At(r.newest.at), Seq: r.newest.seq}
	if !r.waits {
		return o
	}
	o.Seq = r.oldest.seq - 1
	if !r.oldest.at.IsZero() {
		o.Last = orchestrator.At(r.oldest.at.Add(-time.Millisecond))
	}
	return o
}

// stamp returns the moment that the name of a file begins with; unset if it begins with none.
func stamp(file string, now time.Time) time.Time {
	name := filepath.Base(file)
	digits := len(name) - len(strings.TrimLeft(name, "0123456789"))
	at, _ := message.Name{Stamp: name[:digits]}.Time(now)
	return at
}

// waiting reports whether the reader of a message may still get it, or get it again.
func waiting(m *orchestrator.Message) bool {
	return m.State == orchestrator.MessageQueued || m.State == orchestrator.MessageDelivered
}

// queued reports whether a message was ever taken for its reader: what was rejected has an address of its
// writer's making.
func queued(m *orchestrator.Message) bool {
	return m.State != orchestrator.MessageFailed || m.Attempts > 0 || !m.DeliveredAt.IsZero()
}

func meshOf(address string) string {
	mesh, _, _ := strings.Cut(address, "/")
	return mesh
}

// fileNames gives each of the sorted addresses a file of a directory. Where several would have one, also on
// a file system that does not tell capitals apart, the first has it, and the others get a part of their
// hash behind it.
func fileNames(dir string, addresses []string, end string) map[string]string {
	files, taken := map[string]string{}, map[string]bool{}
	for _, address := range addresses {
		name := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_' {
				return r
			}
			return '-'
		}, address) + end
		if taken[strings.ToLower(name)] {
			name += "--" + hash([]byte(address))[:6]
		}
		taken[strings.ToLower(name)] = true
		files[address] = filepath.Join(dir, name+".json")
	}
	return files
}
