package bare

import (
	"bytes"
	"compress/zlib"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// known is what git once said of a repository and what stays so: objects do not change, and
// what git offers depends on its version and the configuration alone.
type known struct {
	config []byte // the file of the configuration as Init left it

	mu     sync.Mutex        // guards what is below
	offers map[string][]byte // what the services begin with, by their names
	peeled map[string]string
	files  map[place]file
}

// place is a path in the tree of an object.
type place struct{ id, path string }

type file struct {
	data  []byte
	found bool
}

func newKnown(config []byte) *known {
	return &known{config: config, offers: map[string][]byte{}, peeled: map[string]string{}, files: map[place]file{}}
}

// configured reports whether the configuration is still the one of Init. Under another one
// (hidden refs, hooks, another store of refs) git answers alone.
func (r Repo) configured() bool {
	data, err := os.ReadFile(filepath.Join(r.Dir, "config"))
	return err == nil && bytes.Equal(data, r.known.config)
}

// peel returns what the tags among the objects of the refs stand for, by their ids; other objects have "".
// It is false when an object is missing.
func (r Repo) peel(s snapshot) (map[string]string, bool) {
	ids := map[string]bool{}
	for _, id := range s.ids {
		ids[id] = true
	}
	if s.head != "" {
		ids[s.head] = true
	}
	k := r.known
	k.mu.Lock()
	defer k.mu.Unlock()
	var ask bytes.Buffer
	for id := range ids {
		if _, known := k.peeled[id]; known {
			continue
		}
		if r.looseAndNoTag(id) {
			k.peeled[id] = ""
			continue
		}
		ask.WriteString(id + "\n" + id + "^{}\n")
	}
	if ask.Len() > 0 {
		out, err := r.feed(ask.Bytes(), "--no-replace-objects", "cat-file", "--batch-check=%(objectname)")
		names := strings.Fields(string(out))
		if err != nil || len(names) != bytes.Count(ask.Bytes(), []byte("\n")) {
			return nil, false // a missing object has a second word
		}
		for n := 0; n < len(names); n += 2 {
			k.peeled[names[n]] = ""
			if names[n+1] != names[n] {
				k.peeled[names[n]] = names[n+1]
			}
		}
	}
	peeled := make(map[string]string, len(ids))
	for id := range ids {
		peeled[id] = k.peeled[id]
	}
	return peeled, true
}

// looseAndNoTag looks into the file that most objects of a push have of their own.
func (r Repo) looseAndNoTag(id string) bool {
	f, err := os.Open(filepath.Join(r.Dir, "objects", id[:2], id[2:]))
	if err != nil {
		return false
	}
	defer f.Close()
	unpacked, err := zlib.NewReader(f)
	if err != nil {
		return false
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(unpacked, head); err != nil {
		return false
	}
	return string(head) != "tag "
}

// File returns the content of a file at a ref or commit; found is false when there is none.
func (r Repo) File(ref, path string) (data []byte, found bool) {
	at, is := r.resolve(ref)
	if !is {
		data, err := r.Read("cat-file", "blob", ref+":"+path)
		return data, err == nil
	}
	k := r.known
	k.mu.Lock()
	defer k.mu.Unlock()
	f, has := k.files[place{at, path}]
	if !has {
		data, err := r.Read("cat-file", "blob", at+":"+path)
		f = file{data: data, found: err == nil}
		k.files[place{at, path}] = f
	}
	return f.data, f.found
}

// resolve finds the object of a ref by its full or short name, in the order of git's rules.
func (r Repo) resolve(name string) (id string, found bool) {
	s, plain := r.snapshot()
	if !plain || plainID.MatchString(name) {
		return "", false
	}
	for _, prefix := range []string{"", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"} {
		if id := s.ids[prefix+name]; id != "" {
			return id, true
		}
	}
	return "", false
}
