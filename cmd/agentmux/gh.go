package main

import (
	"net/url"

	"github.com/cli/go-gh/v2/pkg/auth"
)

// ghToken asks gh's own configuration for the server's token.
func ghToken(server string) (token, from string) {
	u, err := url.Parse(server)
	if err != nil {
		return "", ""
	}
	token, source := auth.TokenForHost(u.Host)
	if token == "" {
		return "", ""
	}
	return token, "gh (" + source + ")"
}
