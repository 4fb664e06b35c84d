package postbox_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/folder"
	"github.com/agentmux/agentmux/orchestrator/postbox"
)

// views are those of a session in dir.
func views(dir string) *postbox.Views {
	return &postbox.Views{
		Queues: filepath.Join(dir, "queues"), Offsets: filepath.Join(dir, "offsets"),
		Archive: &postbox.Archive{Log: filepath.Join(dir, "messages.jsonl"), Now: func() time.Time { return noon }},
	}
}

// mail returns a message whose name has the stamp of a second.
func mail(seq int, to, state string) orchestrator.Message {
	name := fmt.Sprintf("msgs/%s-update-page--%s-m%d.md", noon.Add(time.Duration(seq)*time.Second).Format("0102150405"), to[strings.Index(to, "/")+1:], seq)
	return orchestrator.Message{Seq: seq, File: name, SHA256: "ff", To: to, From: "shop/page", Type: "update", Priority: "normal", State: state}
}

func show(t *testing.T, v *postbox.Views, list ...orchestrator.Message) {
	t.Helper()
	if err := v.Show(list, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, elem ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func offset(t *testing.T, dir, name string) (o postbox.Offset) {
	t.Helper()
	if err := json.Unmarshal([]byte(text(t, dir, "offsets", name)), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func queue(t *testing.T, dir, name string) (q postbox.Queue) {
	t.Helper()
	if err := json.Unmarshal([]byte(text(t, dir, "queues", name)), &q); err != nil {
		t.Fatal(err)
	}
	return q
}

// The files of a session with one message that is read and one that waits, as they are.
func TestViewsAsTheyAreWritten(t *testing.T) {
	dir := t.TempDir()
	read, waits := mail(1, "shop/api", orchestrator.MessageAcked), mail(3, "shop/api", orchestrator.MessageQueued)
	read.AckedAt, waits.Headline = orchestrator.At(noon.Add(2*time.Second)), "Which port?"
	show(t, views(dir), read, waits)
	for name, want := range map[string]string{
		"queues/shop-queue.json": `{
  "version": 1,
  "entries": [
    {
      "seq": 1,
      "file": "msgs/0115120001-update-page--api-m1.md",
      "sha256": "ff",
      "to": "shop/api",
      "from": "shop/page",
      "type": "update",
      "priority": "normal",
      "state": "acked",
      "acked_at": "2026-01-15T12:00:02.000Z"
    },
    {
      "seq": 3,
      "file": "msgs/0115120003-update-page--api-m3.md",
      "sha256": "ff",
      "to": "shop/api",
      "from": "shop/page",
      "type": "update",
      "headline": "Which port?",
      "priority": "normal",
      "state": "queued"
    }
  ]
}
`,
		"offsets/shop-api.json": `{
  "agentId": "shop/api",
  "lastProcessedTimestamp": "2026-01-15T12:00:02.999Z",
  "updatedAt": "2026-01-15T13:00:00.000Z",
  "lastSeq": 2
}
`,
	} {
		if got := text(t, dir, name); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// A program that takes what is up to the offset as read leaves out nothing that waits, whatever came
// after it and has ended: what is up to it has ended.
func TestNothingUpToAnOffsetWaits(t *testing.T) {
	dir := t.TempDir()
	v := views(dir)
	urgent := mail(4, "shop/api", orchestrator.MessageAcked)
	for _, c := range []struct {
		state   string // of the second message
		seconds float64
		seq     int
	}{
		{orchestrator.MessageQueued, 1.999, 1}, {orchestrator.MessageDelivered, 1.999, 1}, {orchestrator.MessageAcked, 4, 4}, {orchestrator.MessageFailed, 4, 4},
		{orchestrator.MessageQueued, 1.999, 1}, // it is retried
		{orchestrator.MessageExpired, 4, 4},
	} {
		second := mail(2, "shop/api", c.state)
		second.Attempts = 1
		show(t, v, mail(1, "shop/api", orchestrator.MessageAcked), second, urgent)
		got := offset(t, dir, "shop-api.json")
		if want := noon.Add(time.Duration(c.seconds * float64(time.Second))); !got.Last.Equal(want) || got.Seq != c.seq || got.Agent != "shop/api" {
			t.Errorf("the second message is %s: %+v, want %s and %d", c.state, got, want, c.seq)
		}
	}
}

// The older tool's directory with our files for its own: each message counts as read or waits as it does here.
func TestOffsetsAreReadAsThoseOfTX(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, ".ai", "tx", "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	list := []orchestrator.Message{
		mail(1, "shop/api", orchestrator.MessageAcked), mail(2, "shop/page", orchestrator.MessageAcked), mail(3, "shop/api", orchestrator.MessageQueued),
		mail(4, "shop/page", orchestrator.MessageAcked), mail(5, "core/core", orchestrator.MessageAcked), mail(6, "shop/api", orchestrator.MessageQueued),
	}
	show(t, views(state), list...)
	want := map[string]string{}
	for _, m := range list {
		want[filepath.Base(m.File)] = m.State
		file := filepath.Join(dir, ".ai", "tx", m.File)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, fmt.Appendf(nil, "---\nto: %s\nfrom: %s\ntype: update\ntimestamp: 2026-01-15T12:00:00Z\n---\n", m.To, m.From), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := folder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := f.Read(noon.Add(time.Hour))
	if err != nil || len(entries) != len(list) {
		t.Fatalf("%d messages, %v", len(entries), err)
	}
	for _, e := range entries {
		if e.State != want[e.File] {
			t.Errorf("%s is %s, want %s", e.File, e.State, want[e.File])
		}
	}
}

// What has left the state is remembered of each reader, by the host that saw it and by the next one. A
// queue whose last message has left is empty.
func TestViewsRememberWhatHasLeftTheState(t *testing.T) {
	dir := t.TempDir()
	v := views(dir)
	early, last := mail(1, "shop/api", orchestrator.MessageAcked), mail(2, "core/core", orchestrator.MessageAcked)
	show(t, v, early, last)
	if err := v.Archive.File([]orchestrator.Message{early, last}); err != nil {
		t.Fatal(err)
	}
	for _, host := range []*postbox.Views{v, views(dir)} {
		show(t, host, mail(3, "shop/page", orchestrator.MessageAcked))
		if o := offset(t, dir, "shop-api.json"); !o.Last.Equal(noon.Add(time.Second)) || o.Seq != 1 {
			t.Errorf("api: %+v", o)
		}
		if q := queue(t, dir, "core-queue.json"); q.Version != 1 || q.Entries == nil || len(q.Entries) != 0 {
			t.Errorf("core: %+v", q)
		}
		if err := os.RemoveAll(filepath.Join(dir, "offsets")); err != nil {
			t.Fatal(err)
		}
	}
}

// Addresses whose files would have one name have two files, also where capitals are not told apart.
func TestViewsWithOneNameHaveTwoFiles(t *testing.T) {
	dir := t.TempDir()
	addresses := []string{"a-b/c", "a/b-c", "A/b-c", "pipeline/coder-2"}
	var list []orchestrator.Message
	for i, a := range addresses {
		list = append(list, mail(i+1, a, orchestrator.MessageQueued))
	}
	v := views(dir)
	show(t, v, list[3], list[1])
	show(t, v, list...) // one that comes later has the name that another one had
	found, err := os.ReadDir(filepath.Join(dir, "offsets"))
	if err != nil || len(found) != len(addresses) {
		t.Fatalf("%d files, %v", len(found), err)
	}
	agents, names := map[string]bool{}, map[string]bool{}
	for _, e := range found {
		agents[offset(t, dir, e.Name()).Agent] = true
		names[strings.ToLower(e.Name())] = true
		if bare, sum, several := strings.Cut(strings.TrimSuffix(e.Name(), ".json"), "--"); several && (len(sum) != 6 || !strings.EqualFold(bare, "a-b-c")) {
			t.Errorf("the name %s", e.Name())
		}
	}
	if len(agents) != len(addresses) || len(names) != len(addresses) || !names["a-b-c.json"] || !names["pipeline-coder-2.json"] {
		t.Errorf("agents %v in files %v", agents, names)
	}
}

// What was rejected has the address that its writer made up: there is no file of it.
func TestSecurity40ARejectedMessageMakesNoView(t *testing.T) {
	dir := t.TempDir()
	rejected := mail(1, "x/y", orchestrator.MessageFailed)
	rejected.To = "../../x/y"
	show(t, views(dir), rejected, mail(2, "shop/api", orchestrator.MessageQueued))
	for name, want := range map[string]string{"queues": "shop-queue.json", "offsets": "shop-api.json"} {
		found, err := os.ReadDir(filepath.Join(dir, name))
		if err != nil || len(found) != 1 || found[0].Name() != want {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	if q := queue(t, dir, "shop-queue.json"); len(q.Entries) != 1 {
		t.Errorf("%+v", q)
	}
}

// Of ten thousand messages that wait a queue shows those that came first, and says how many more there are.
func TestALongQueueIsCut(t *testing.T) {
	dir := t.TempDir()
	var list []orchestrator.Message
	for n := range 10_000 {
		list = append(list, mail(n+1, "shop/api", orchestrator.MessageQueued))
	}
	list = append(list, mail(10_001, "shop/page", orchestrator.MessageAcked))
	show(t, views(dir), list...)
	q := queue(t, dir, "shop-queue.json")
	if n := len(q.Entries); n != 1001 || q.Omitted != 9000 || q.Entries[0].Seq != 1 || q.Entries[n-1].Seq != 10_001 || q.Entries[n-2].Seq != 1000 {
		t.Errorf("%d entries, %d omitted", n, q.Omitted)
	}
	if n := len(text(t, dir, "queues", "shop-queue.json")); n > 500_000 {
		t.Errorf("the file has %d bytes", n)
	}
}

// A file whose messages did not change is not written again, and one that could not be written is.
func TestViewsAreWrittenWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	v := views(dir)
	api, page := mail(1, "shop/api", orchestrator.MessageQueued), mail(2, "page-2/page", orchestrator.MessageQueued)
	if err := os.WriteFile(v.Queues, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := v.Show([]orchestrator.Message{api, page}, noon); err == nil {
		t.Error("no error, and a file where the directory should be")
	}
	if err := os.Remove(v.Queues); err != nil {
		t.Fatal(err)
	}
	show(t, v, api, page)
	for _, name := range []string{"queues/shop-queue.json", "offsets/shop-api.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page.State = orchestrator.MessageAcked
	show(t, v, api, page)
	for _, name := range []string{"queues/shop-queue.json", "offsets/shop-api.json"} {
		if text(t, dir, name) != "mine" {
			t.Errorf("%s was written again", name)
		}
	}
	if q := queue(t, dir, "page-2-queue.json"); q.Entries[0].State != orchestrator.MessageAcked {
		t.Errorf("%+v", q)
	}
}

// What an earlier host left there of other readers goes; what is not ours stays.
func TestViewsOfEarlierHostsAreReplaced(t *testing.T) {
	dir := t.TempDir()
	show(t, views(dir), mail(1, "shop/api", orchestrator.MessageQueued), mail(2, "old/one", orchestrator.MessageQueued))
	for _, name := range []string{"queues/notes.txt", "offsets/shop-api.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	show(t, views(dir), mail(1, "shop/api", orchestrator.MessageQueued))
	var left []string
	for _, pattern := range []string{"queues/*", "offsets/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			left = append(left, filepath.Base(file))
		}
	}
	if got, want := strings.Join(left, " "), "notes.txt shop-queue.json shop-api.json"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if o := offset(t, dir, "shop-api.json"); o.Agent != "shop/api" {
		t.Errorf("%+v", o)
	}
}

// A session that somebody removed is not made again.
func TestViewsMakeNoSession(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if err := views(gone).Show([]orchestrator.Message{mail(1, "shop/api", orchestrator.MessageQueued)}, noon); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("the directory of the session: %v", err)
	}
}
