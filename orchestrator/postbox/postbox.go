// Package postbox is the directory of the message files of a session: it writes a message to a file
// of its own, and reads a file as a letter. It also keeps the log of the messages that have ended, and
// shows what became of them in files for other programs.
//
// A file is made once and never changed. Names that begin with a dot, links and what is not a
// regular file are not letters.
package postbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"

	"github.com/agentmux/agentmux/workflows/message"
)

// nameRule is for what a name may have: it is part of the line that announces the message to its
// reader, and no text of its writer may get there.
var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._>-]*\.md$`) })

// maxBody is how much of a body a letter keeps: as much as a question may have.
const maxBody = 4000

// Read reads the file called name below dir, without what clean takes out of its texts; nil takes out
// nothing. What is not a message says so in its Problem. The hash is of the file as it is.
func Read(dir, name string, clean func(string) string) message.Letter {
	if !nameRule().MatchString(name) {
		return message.Letter{Problem: fmt.Sprintf("%q is not the name of a message", name)}
	}
	data, err := content(filepath.Join(dir, name))
	if err != nil {
		return message.Letter{Gone: true, Problem: err.Error()}
	}
	m, problems := message.ParseClean(name, data, nil, clean)
	if m.Body = bytes.ToValidUTF8(m.Body[:min(len(m.Body), maxBody)], nil); m.ID == "" {
		m.ID = message.ParseName(name, []string{m.From.Agent, m.To.Agent}).ID
	}
	return message.Letter{SHA256: hash(data), Message: m, Problem: message.Reason(problems)}
}

// content reads a regular file, of one that is too large one byte more than a message may have.
func content(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("the file is missing")
	case err != nil:
		return nil, errors.New("the file cannot be read")
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, message.MaxFile+1))
	if err != nil {
		return nil, errors.New("the file cannot be read")
	}
	return data, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
