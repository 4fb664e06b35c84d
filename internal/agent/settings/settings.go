package settings

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/durable"
)

// Settings is what a program needs for the tool server and the hooks of a launch.
type Settings struct {
	ToolArgs []string          // arguments for the tool server
	HookArgs []string          // arguments for the hooks
	Env      map[string]string // variables

	launch Launch
	files  map[string][]byte // below Launch.Dir
	home   map[string][]byte // below Launch.Home
}

// For returns the settings of a launch in the forms tools and hooks, see ToolForms and
// HookForms; "" or an unknown form adds nothing.
func For(l Launch, tools, hooks string) (Settings, error) {
	var t, h addition
	if add := toolForms()[tools]; add != nil {
		t = add(l)
	}
	if add := hookForms()[hooks]; add != nil {
		h = add(l)
	}
	s := Settings{ToolArgs: t.args, HookArgs: h.args, Env: map[string]string{}, launch: l, files: map[string][]byte{}, home: map[string][]byte{}}
	files, home := map[string]object{}, map[string]object{}
	for _, a := range []addition{t, h} {
		maps.Copy(s.Env, a.env)
		join(files, a.files)
		join(home, a.home)
		for name, text := range a.texts {
			s.files[name] = []byte(text)
		}
	}
	if err := encodeAll(s.files, files); err != nil {
		return Settings{}, err
	}
	return s, encodeAll(s.home, home)
}

// join adds documents. Two of one name share their top level.
func join(to, from map[string]object) {
	for name, document := range from {
		if to[name] == nil {
			to[name] = object{}
		}
		maps.Copy(to[name], document)
	}
}

func encodeAll(to map[string][]byte, from map[string]object) error {
	for name, document := range from {
		data, err := document.encode()
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		to[name] = data
	}
	return nil
}

// Write writes the files into the configuration directory of the launch, which exists, and
// into the private home.
func (s Settings) Write() error {
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		path := filepath.Join(s.launch.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := durable.View(path, s.files[name]); err != nil {
			return err
		}
	}
	if !s.launch.Private {
		return nil
	}
	return s.writeHome()
}

// writeHome writes files below the private home, for programs that read their settings nowhere
// else. The agent that had the home before may have left anything there: a link in the way is
// removed, not followed.
func (s Settings) writeHome() error {
	for _, name := range slices.Sorted(maps.Keys(s.home)) {
		dir := s.launch.Home
		for part := range strings.SplitSeq(filepath.Dir(name), "/") {
			dir = filepath.Join(dir, part)
			if err := ensureDir(dir); err != nil {
				return fmt.Errorf("write %s: %w", name, err)
			}
		}
		if err := durable.Replace(filepath.Join(s.launch.Home, name), s.home[name]); err != nil {
			return err
		}
	}
	return nil
}

// ensureDir creates the directory dir unless it exists, in place of anything else.
func ensureDir(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}
