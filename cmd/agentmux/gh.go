package main

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cli/go-gh/v2/pkg/auth"
	"github.com/cli/go-gh/v2/pkg/config"
)

// ghTime bounds gh where it asks the key ring of the system.
const ghTime = 10 * time.Second

// ghToken returns the token that gh has for a server now, and where gh keeps it. The library
// reads gh's files once in the life of a process, which may be longer than that of a login.
func ghToken(server string) (token, from string) {
	u, err := url.Parse(server)
	if err != nil {
		return "", ""
	}
	host := auth.NormalizeHostname(u.Host)
	if data, err := os.ReadFile(filepath.Join(config.ConfigDir(), "hosts.yml")); err == nil {
		if token, err := config.ReadFromString(string(data)).Get([]string{host, "oauth_token"}); err == nil && token != "" {
			return token, "gh (oauth_token)"
		}
	}
	program := os.Getenv("GH_PATH")
	if program == "" {
		program = "gh"
	}
	ctx, cancel := context.WithTimeout(context.Background(), ghTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "auth", "token", "--secure-storage", "--hostname", host).Output()
	if token = strings.TrimSpace(string(out)); err != nil || token == "" {
		return "", ""
	}
	return token, "gh (gh)"
}
