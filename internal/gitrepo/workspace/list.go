package workspace

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// listing is what a directory holds, sorted.
type listing struct {
	found  []candidate
	closed error // of opening it
	err    error
}

// listedAtOnce is how many directories one goroutine lists before it takes the next ones: those
// of one parent mostly lie beside one another.
const listedAtOnce = 16

// list lists directories side by side: a walk is system calls for the most part.
func (w *walker) list(level []directory) []listing {
	listings := make([]listing, len(level))
	var next atomic.Int64
	work := func() {
		l := lister{walker: w, above: -1}
		defer l.leave()
		for {
			from := int(next.Add(listedAtOnce)) - listedAtOnce
			if from >= len(level) {
				return
			}
			for i := from; i < min(from+listedAtOnce, len(level)); i++ {
				listings[i] = l.list(level[i].path)
			}
		}
	}
	if w.hook != nil { // it sees one directory after another
		work()
		return listings
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (len(level)+listedAtOnce-1)/listedAtOnce) {
		group.Go(work)
	}
	group.Wait()
	return listings
}

// lister lists directories, of which many have one parent: it is kept open.
type lister struct {
	walker *walker
	above  int    // an open directory, -1 for none
	path   string // where it is
	buffer []byte
	names  []string
}

func (l *lister) list(dir string) listing {
	if l.walker.hook != nil {
		l.walker.hook("read", dir)
	}
	fd, err := l.enter(dir)
	if err != nil {
		return listing{closed: err}
	}
	defer func() { _ = unix.Close(fd) }()
	if err := l.read(fd); err != nil {
		return listing{err: err}
	}
	found := make([]candidate, 0, len(l.names))
	for _, name := range l.names {
		var stat unix.Stat_t
		if err := unix.Fstatat(fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			return listing{err: err}
		}
		if dir != "" {
			name = dir + "/" + name
		}
		c := candidate{path: name, at: l.walker.base.place(name), mode: uint32(stat.Mode), size: stat.Size, links: uint64(stat.Nlink)}
		c.same, c.racy = l.walker.kept.same(c.at, &stat)
		found = append(found, c)
	}
	return listing{found: found}
}

func (l *lister) enter(dir string) (int, error) {
	if dir == "" {
		return l.walker.open(dir)
	}
	if above := parent(dir); l.above < 0 || l.path != above {
		l.leave()
		fd, err := l.walker.open(above)
		if err != nil {
			return -1, err
		}
		l.above, l.path = fd, above
	}
	return unix.Openat(l.above, dir[strings.LastIndexByte(dir, '/')+1:], unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// leave closes the parent that is kept open.
func (l *lister) leave() {
	if l.above >= 0 {
		_ = unix.Close(l.above)
	}
	l.above = -1
}

// read reads the names of a directory.
func (l *lister) read(fd int) error {
	if l.buffer == nil {
		l.buffer = make([]byte, 64<<10)
	}
	l.names = l.names[:0]
	for {
		n, err := unix.ReadDirent(fd, l.buffer)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return os.NewSyscallError("read directory", err)
		case n <= 0:
			slices.Sort(l.names)
			return nil
		}
		_, _, l.names = unix.ParseDirent(l.buffer[:n], -1, l.names)
	}
}
