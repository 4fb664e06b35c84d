package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// Managed is the managed project of a repository, as its directory tells.
type Managed struct {
	Dir    string
	Server string   // as in the path: a port is behind _
	Names  []string // owner/name: all that it was seen under, the newest last
}

// Name is what the repository was called last.
func (m Managed) Name() string { return m.Names[len(m.Names)-1] }

// Called reports whether the repository has or had a name.
func (m Managed) Called(name string) bool {
	return slices.ContainsFunc(m.Names, func(known string) bool { return strings.EqualFold(known, name) })
}

// IsOrigin reports whether the repository is the one at the address of a clone's origin.
func (m Managed) IsOrigin(origin string) bool {
	host, repo := splitOrigin(origin)
	if repo == (ghsync.Repo{}) || !m.Called(repo.String()) {
		return false
	}
	server := strings.ReplaceAll(strings.ToLower(host), ":", "_")
	if name, _, port := strings.Cut(m.Server, "_"); port && overSSH(origin) {
		return name == strings.ToLower(hostName(host)) // the port of ssh says nothing about that of https
	}
	return server == m.Server
}

// ListManaged returns the managed projects of a state home, by server and name. One whose
// repo.json is missing or damaged goes by the name of its directory.
func ListManaged(stateHome string) []Managed {
	var all []Managed
	for _, server := range subdirs(stateHome) {
		for _, owner := range subdirs(server) {
			for _, dir := range subdirs(owner) {
				if m, ok := ManagedAt(stateHome, dir); ok {
					all = append(all, m)
				}
			}
		}
	}
	return all
}

// subdirs are the directories in dir, sorted; none if it cannot be read.
func subdirs(dir string) (paths []string) {
	found, _ := os.ReadDir(dir)
	for _, e := range found {
		if e.IsDir() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// ManagedAt returns the managed project of a state home in a directory, and reports whether it is
// one.
func ManagedAt(stateHome, dir string) (m Managed, ok bool) {
	owner := filepath.Dir(dir)
	if filepath.Dir(filepath.Dir(owner)) != stateHome {
		return m, false
	}
	m = Managed{Dir: dir, Server: filepath.Base(filepath.Dir(owner)), Names: []string{filepath.Base(owner) + "/" + filepath.Base(dir)}}
	n, err := ReadNames(dir)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Lstat(session.Dir(dir))
		return m, err == nil
	}
	if err == nil && len(n.Names) > 0 {
		m.Names = n.Names
	}
	return m, true
}
