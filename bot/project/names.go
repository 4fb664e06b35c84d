package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// NamesFile says which repository a managed project is of. The directory keeps its name when the
// repository gets another one.
const NamesFile = "repo.json"

// Names are the id of a repository, and every name it was seen under, the present one last.
type Names struct {
	Version int      `json:"version"`
	ID      int64    `json:"id"`
	Names   []string `json:"names"`
}

// Now is the present name; the zero Repo if there is none.
func (n Names) Now() ghsync.Repo {
	if len(n.Names) == 0 {
		return ghsync.Repo{}
	}
	return n.All()[len(n.Names)-1]
}

// All are the names, the present one last.
func (n Names) All() (all []ghsync.Repo) {
	for _, called := range n.Names {
		owner, name, _ := strings.Cut(called, "/")
		all = append(all, ghsync.Repo{Owner: owner, Name: name})
	}
	return all
}

// ReadNames reads the names of the managed project in dir; fs.ErrNotExist if there are none.
func ReadNames(dir string) (n Names, err error) {
	file := filepath.Join(dir, NamesFile)
	data, err := session.ReadFile(file)
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(data, &n); err != nil || n.Version != 1 || n.ID <= 0 {
		return n, fmt.Errorf("%s cannot be read; move it away", file)
	}
	return n, nil
}

// NoteName notes what the repository of the managed project in dir is called now, and returns all of its names. It
// fails if the directory is of another repository, which had that name before.
func NoteName(dir string, id int64, repo ghsync.Repo) (Names, error) {
	n, err := ReadNames(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		n = Names{Version: 1, ID: id}
	case err != nil:
		return n, err
	case n.ID != id:
		return n, fmt.Errorf("%s is of another repository that had this name, with the id %d and not %d: move the directory away", dir, n.ID, id)
	}
	if n.Now() == repo {
		return n, nil
	}
	n.Names = append(slices.DeleteFunc(n.Names, func(name string) bool { return name == repo.String() }), repo.String())
	data, err := json.Marshal(n)
	if err != nil {
		return n, err
	}
	return n, durable.Replace(filepath.Join(dir, NamesFile), append(data, '\n'))
}

// ManagedOf returns the directory of the managed project of a repository: the one that is of its
// id, by whatever name, else the one of its name.
func (h Opener) ManagedOf(id int64, repo ghsync.Repo, c *config.Config) (string, error) {
	named := h.ManagedDir(repo, c)
	all, err := h.manageds(c, "*")
	if err != nil {
		return "", err
	}
	for _, dir := range all {
		if n, err := ReadNames(dir); err == nil && n.ID == id {
			return dir, nil
		}
	}
	return named, nil
}

// ManagedBy returns the present names of the repositories of an owner that have managed projects.
func (h Opener) ManagedBy(owner string, c *config.Config) ([]ghsync.Repo, error) {
	dirs, err := h.manageds(c, strings.ToLower(owner))
	if err != nil {
		return nil, err
	}
	var all []ghsync.Repo
	for _, dir := range dirs {
		if n, err := ReadNames(dir); err == nil && strings.EqualFold(n.Now().Owner, owner) {
			all = append(all, n.Now())
		}
	}
	return all, nil
}

// manageds lists the directories of managed projects below an owner's.
func (h Opener) manageds(c *config.Config, owner string) ([]string, error) {
	server := filepath.Dir(filepath.Dir(h.ManagedDir(ghsync.Repo{Owner: "o", Name: "n"}, c)))
	files, err := filepath.Glob(filepath.Join(server, owner, "*", NamesFile))
	for i, file := range files {
		files[i] = filepath.Dir(file)
	}
	return files, err
}
