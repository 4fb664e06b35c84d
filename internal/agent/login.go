package agent

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LoginRun is a login for agentmux in progress. A person runs Argv with Env at a terminal, then
// Finish puts the new directory in the place of the old one, or Abort removes it.
type LoginRun struct {
	Argv []string
	Env  []string

	fresh, place string
}

// CheckLogin fails for a program that cannot have a login made for agentmux, and says what it
// takes instead.
func (p Provider) CheckLogin() error {
	switch {
	case p.ConfigDirEnv != "" && len(p.LoginArgs) > 0:
		return nil
	case len(p.Credentials) == 0:
		return fmt.Errorf("%s needs no login", p.Name)
	}
	return fmt.Errorf("%s has no login of our own; set %s for agentmux", p.Name, strings.Join(p.Credentials, " or "))
}

// StartLogin prepares a login of the provider below logins, the directory that EnvSpec names.
// The program always logs in to a new directory: a second login in a directory in use would
// end the sessions that share it.
func (p Provider) StartLogin(logins, path, term string) (*LoginRun, error) {
	if err := p.CheckLogin(); err != nil {
		return nil, err
	}
	program, err := lookPath(p.Command, path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(logins, 0o700); err != nil {
		return nil, fmt.Errorf("start login: %w", err)
	}
	fresh, err := os.MkdirTemp(logins, "."+p.Name+"-")
	if err != nil {
		return nil, fmt.Errorf("start login: %w", err)
	}
	r := &LoginRun{Argv: append([]string{program}, p.LoginArgs...), fresh: fresh, place: filepath.Join(logins, p.Name)}
	// Its home is the new directory too, so nothing is written to the person's own.
	for _, v := range [][2]string{
		{"PATH", path}, {"HOME", fresh}, {"TERM", cmp.Or(term, "screen-256color")}, {"LANG", "C.UTF-8"}, {p.ConfigDirEnv, fresh},
	} {
		r.Env = append(r.Env, v[0]+"="+v[1])
	}
	return r, nil
}

// Finish puts the new login in the place of the old one. Launches that run keep the old
// directory, under another name; the next login removes it.
func (r *LoginRun) Finish() error {
	old := r.place + ".old"
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("finish login: %w", err)
	}
	if err := os.Rename(r.place, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("finish login: %w", err)
	}
	if err := os.Rename(r.fresh, r.place); err != nil {
		return fmt.Errorf("finish login: %w", err)
	}
	return nil
}

// Abort removes what an unfinished login wrote. It may be called after Finish.
func (r *LoginRun) Abort() error {
	if err := os.RemoveAll(r.fresh); err != nil {
		return fmt.Errorf("abort login: %w", err)
	}
	return nil
}
