package postbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/workflows/message"
)

// maxTaken bounds the names that are tried for a message whose name is taken.
const maxTaken = 1000

// ErrLarge says that a message is larger than its file may be; nothing was written.
var ErrLarge = errors.New("larger than 256 KiB")

// Box is a directory of messages for those who write them. The zero Disk is the one of this machine.
type Box struct {
	Dir  string
	Disk durable.Disk
}

// Write makes the file of a message. It returns its name and its hash. A name that is taken gets -2, -3
// and so on behind its id, and the message with it.
func (b Box) Write(m message.Message, at time.Time) (file, sum string, err error) {
	err = b.Post(m, at, func(name Name) (err error) {
		file, sum, err = name(m.ID)
		return err
	})
	return file, sum, err
}

// Name makes the file of a message under an id, and returns its name and its hash.
type Name func(id string) (file, sum string, err error)

// Post makes the file of a message that list adds to a list. What takes time is done before and after
// list, which holds a lock: the text is on disk when list is called, and the name of the file when Post
// returns. list calls name at most once, with the id of m unless that is known to be of another message.
// A message that list fails to add has no file, unless its error is durable.ErrStays: who reads the list
// may read the file, too.
func (b Box) Post(m message.Message, at time.Time, list func(name Name) error) error {
	d := draft{box: b, at: at}
	err := d.write(m)
	if err != nil {
		return err
	}
	var file string
	err = list(func(id string) (_, sum string, err error) {
		file, sum, err = d.name(m, id)
		return file, sum, err
	})
	if err = errors.Join(err, d.file.Close()); file == "" {
		return err
	}
	if err == nil || errors.Is(err, durable.ErrStays) {
		err = errors.Join(err, b.Disk.SyncDir(b.Dir))
	}
	if err != nil && !errors.Is(err, durable.ErrStays) { // without its file the line has no effect
		err = errors.Join(err, b.Disk.Remove(filepath.Join(b.Dir, file)))
	}
	return err
}

// draft is the text of a message on disk, with the name that it is to have.
type draft struct {
	box       Box
	at        time.Time
	id        string
	file      *durable.Draft
	path, sum string
}

func (d *draft) write(m message.Message) error {
	name, err := message.FileName(d.at, &m)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	text := m.Text()
	if len(text) > message.MaxFile {
		return ErrLarge
	}
	d.id, d.path, d.sum = m.ID, filepath.Join(d.box.Dir, name), hash(text)
	if d.file, err = d.box.Disk.Draft(d.path, text); err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	return nil
}

// name gives the file its name. With another id than that of the draft it is written again.
func (d *draft) name(m message.Message, id string) (file, sum string, err error) {
	m.ID = id
	for n := 2; n < maxTaken; n++ {
		if m.ID != d.id {
			old := d.file
			if err := d.write(m); err != nil {
				return "", "", err
			}
			if err := old.Close(); err != nil {
				return "", "", err
			}
		}
		if err = d.file.Name(d.path); err == nil {
			return filepath.Base(d.path), d.sum, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", "", fmt.Errorf("write message: %w", err)
		}
		m.ID = fmt.Sprintf("%s-%d", id, n)
	}
	return "", "", fmt.Errorf("write message: every name up to %s is taken", filepath.Base(d.path))
}

// CountSince returns how many lines a log has behind an offset.
func CountSince(log string, offset int64) (n int, err error) {
	data, err := since(log, offset)
	for line := range bytes.Lines(data) {
		n += min(len(bytes.TrimSpace(line)), 1)
	}
	return n, err
}
