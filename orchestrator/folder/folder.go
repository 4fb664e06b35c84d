// Package folder reads a directory of message files: those of a session, or of the tool whose
// format they have. It only reads: no file is made, renamed or marked.
//
// What a file says counts. A file that cannot be read as a message is in the listing, too, with
// the reason and with what its name hints at. Links, pipes, directories, hidden files and *.tmp
// are left out; a file that is removed while it is looked at was never there. Bodies are not
// kept: 10,000 messages take a few megabytes.
package folder

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/agentmux/agentmux/orchestrator/postbox"
	"github.com/agentmux/agentmux/workflows/message"
)

// Entry is one message of a folder.
type Entry struct {
	File     string          // name without directory
	Message  message.Message // without its body; of a failed one what could be read
	At       time.Time       // as its writer says, else when the file was changed last
	Changed  time.Time       // when the file was changed last
	State    string          // queued, delivered, acked, expired, failed, orphan or superseded
	Reason   string          // of a failed one, and why a queued one is not delivered now, in one line
	Warnings []string        // what of the file was dropped, and that it was changed
	Claimed  bool            // nothing but the file says who sent it
	Taken    bool            // the session knows it
	sha256   string
}

// Folder is a directory of message files. Its methods read the directory again each time.
type Folder struct {
	Dir     string // of the files, absolute
	offsets string // directory of the positions of their readers; "" = none
	known   map[string]State
	held    string          // why the session delivers nothing now
	agents  map[string]bool // met so far; names of files are read with them
}

// State is what a session knows of one of its messages.
type State struct {
	Name   string // queued, delivered, ...
	Reason string
	From   string // who sent it, whatever the file says
	Hand   bool   // the file was laid there by hand: nothing proves From
	SHA256 string // of the file as it was taken; "" in sessions of earlier versions
}

// NoMessagesError says that a directory has no messages.
type NoMessagesError struct{ Dir string }

func (e *NoMessagesError) Error() string {
	return e.Dir + " holds no messages: expected .ai/tx/msgs, msgs or message files in it"
}

// places are where below a directory messages lie, and the positions of their readers.
var places = []struct{ messages, offsets string }{
	{".ai/tx/msgs", ".ai/tx/state/offsets"},
	{"msgs", "state/offsets"},
	{".", "../state/offsets"},
}

// Open finds the messages below a directory: a project with .ai/tx, that directory, or the one
// of the files. A directory without messages is a *NoMessagesError.
func Open(dir string) (*Folder, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open messages: %w", err)
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return nil, fmt.Errorf("open messages: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("open messages: %s is not a directory", dir)
	}
	for _, p := range places {
		found := filepath.Join(dir, p.messages)
		if info, err := os.Stat(found); err != nil || !info.IsDir() {
			continue
		}
		f := &Folder{Dir: found, offsets: filepath.Join(dir, p.offsets), agents: map[string]bool{}}
		if found != dir {
			return f, nil
		}
		names, err := f.names()
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			return f, nil
		}
	}
	return nil, &NoMessagesError{dir}
}

// OfSession is the folder of a session whose state knows what became of its messages. The
// directory may not exist yet.
func OfSession(dir string, s *orchestrator.State) *Folder {
	f := &Folder{Dir: filepath.Join(dir, "msgs"), known: map[string]State{}, agents: map[string]bool{}}
	if s == nil {
		return f
	}
	f.Learn(s)
	return f
}

// Learn takes what the session of the folder knows of its messages by now.
func (f *Folder) Learn(s *orchestrator.State) {
	f.held = post.Withheld(s)
	ended, _ := postbox.Ended(filepath.Join(filepath.Dir(f.Dir), "messages.jsonl")) // without it the files are shown all the same
	for _, m := range append(ended, s.Messages...) {
		f.known[filepath.Base(m.File)] = State{Name: m.State, Reason: string(m.Reason), From: m.From, Hand: m.By == post.ByHand, SHA256: m.SHA256}
	}
}

// names are those of the files that may be messages, in their order.
func (f *Folder) names() ([]string, error) {
	found, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	var names []string
	for _, e := range found {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".md") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Read returns the messages of the folder by their time, those of one moment by the names of
// their files. now decides what is past its deadline.
func (f *Folder) Read(now time.Time) ([]Entry, error) { return f.ReadNew(now, nil) }

// ReadNew is Read without the messages in seen, which has the names that Same gives them.
func (f *Folder) ReadNew(now time.Time, seen map[string]bool) ([]Entry, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, name := range names {
		if seen[bare(name)] {
			continue
		}
		e, ok := f.entry(name)
		if !ok {
			continue
		}
		entries = append(entries, e)
		f.agents[e.Message.From.Agent], f.agents[e.Message.To.Agent] = true, true
	}
	delete(f.agents, "")
	known := slices.Sorted(maps.Keys(f.agents))
	offsets := f.readOffsets()
	for i := range entries {
		entries[i].hint(known)
		f.judge(&entries[i], offsets, now)
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.File, b.File)) })
	return entries, nil
}

// entry reads one file; ok is false if there is none, or another thing than a file.
func (f *Folder) entry(name string) (e Entry, ok bool) {
	data, changed, err := f.content(name)
	if errors.Is(err, errNotFile) {
		return Entry{}, false
	}
	e = Entry{File: name, Changed: changed, At: changed}
	if err != nil {
		e.State, e.Reason = orchestrator.MessageFailed, err.Error()
		return e, true
	}
	if _, ok := f.known[name]; ok {
		sum := sha256.Sum256(data)
		e.sha256 = hex.EncodeToString(sum[:])
	}
	m, problems := message.Parse(name, data, nil)
	m.Body = nil
	if e.Message = m; !m.At.IsZero() {
		e.At = m.At
	}
	if problems.Err() != nil {
		e.State, e.Reason = orchestrator.MessageFailed, message.Reason(problems)
		return e, true
	}
	for _, p := range problems {
		p.File = ""
		e.Warnings = append(e.Warnings, p.String())
	}
	return e, true
}

// errNotFile is the error of a name behind which there is no file to read.
var errNotFile = errors.New("not a file")

// content reads a file and says when it was changed last. Of a file that is too large for a
// message one byte more than a message may have is read.
func (f *Folder) content(name string) (data []byte, changed time.Time, err error) {
	file, err := os.OpenFile(filepath.Join(f.Dir, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, changed, errors.New("the file cannot be read: permission denied")
		}
		return nil, changed, errNotFile
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, changed, errNotFile
	}
	data, err = io.ReadAll(io.LimitReader(file, message.MaxFile+1))
	if err != nil {
		return nil, info.ModTime(), fmt.Errorf("the file cannot be read: %w", err)
	}
	return data, info.ModTime().UTC(), nil
}

// hint takes from the name of the file what the file does not say.
func (e *Entry) hint(known []string) {
	n := message.ParseName(e.File, known)
	m := &e.Message
	if m.ID == "" {
		m.ID = n.ID
	}
	if e.State != orchestrator.MessageFailed {
		return
	}
	if m.Type == "" {
		m.Type = n.Type
	}
	if m.From.Agent == "" {
		m.From.Agent = n.From
	}
	if m.To.Agent == "" {
		m.To.Agent = n.To
	}
}

// judge says what became of a message: what the session knows, else what the end of its name,
// the position of its reader and its deadline say.
func (f *Folder) judge(e *Entry, offsets map[string]time.Time, now time.Time) {
	defer func() {
		if e.State == orchestrator.MessageQueued && e.Reason == "" {
			e.Reason = f.held
		}
	}()
	s, ok := f.known[e.File]
	if e.Claimed, e.Taken = !ok || s.Hand, ok; ok {
		s.tell(e)
		return
	}
	if e.State != "" {
		return
	}
	n := message.ParseName(e.File, nil)
	e.State = orchestrator.MessageQueued
	position, read := offsets[e.Message.To.String()]
	stamp, stamped := n.Time(e.At)
	if !stamped {
		stamp = e.At
	}
	switch {
	case n.End == "done" || n.End == "" && read && !stamp.After(position):
		e.State = orchestrator.MessageAcked
	case n.End == "failed":
		e.State, e.Reason = orchestrator.MessageFailed, "the name of the file says so"
	case n.End == "orphan":
		e.State, e.Reason = orchestrator.MessageOrphan, "the name of the file says so"
	case !e.Message.Deadline.IsZero() && e.Message.Deadline.Before(now):
		e.State, e.Reason = orchestrator.MessageExpired, "its deadline passed"
	}
}

// tell says of a message what a session knows of it. The sender is the one that the session knows: a
// file may name another one, or was changed since.
func (s State) tell(e *Entry) {
	e.State, e.Reason = s.Name, s.Reason
	m := &e.Message
	if from, err := message.ParseAddress(s.From); err == nil {
		if m.Requester == m.From.String() {
			m.Requester = s.From
		}
		m.From = from
	}
	if s.SHA256 != "" && s.SHA256 != e.sha256 {
		e.Claimed = true
		e.Warnings = append(e.Warnings, "the file was changed after it was taken: it is not what its sender wrote")
	}
}

// Find returns the messages that a text names: the name of a file, with or without .md and
// what was added at an end, or an id.
func Find(entries []Entry, text string) []Entry {
	var found []Entry
	name := bare(filepath.Base(text))
	for _, e := range entries {
		switch {
		case bare(e.File) == name:
			return []Entry{e}
		case e.Message.ID == text:
			found = append(found, e)
		}
	}
	return found
}

// Same is the name of a file without what is added at an end: a message keeps it.
func (e Entry) Same() string { return bare(e.File) }

func bare(file string) string {
	file = strings.TrimSuffix(file, ".md")
	if end := message.ParseName(file, nil).End; end != "" {
		file = strings.TrimSuffix(file, "-"+end)
	}
	return file
}

// Body returns a message with its body. It fails if the file is not a message any more.
func (f *Folder) Body(e Entry) ([]byte, error) {
	data, _, err := f.content(e.File)
	if errors.Is(err, errNotFile) {
		return nil, fmt.Errorf("%s is not there any more", e.File)
	}
	if err != nil {
		return nil, err
	}
	if len(data) > message.MaxFile {
		return nil, fmt.Errorf("%s is larger than 256 KiB", e.File)
	}
	m, _ := message.Parse(e.File, data, nil)
	if m.Body == nil && e.State == orchestrator.MessageFailed {
		return data, nil // without an end of its keys all of it is shown
	}
	return m.Body, nil
}
