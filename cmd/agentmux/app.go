package main

import (
	"sync"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/redact"
)

// app is what every command gets: streams and flags, and the finder of what they mean.
type app = site.Finder

func newApp(std console.Streams) *app {
	known := &account.Tokens{Variables: account.TakeVariables(), File: account.TakeFile(), GH: ghToken}
	redactor := sync.OnceValue(func() *redact.Redactor {
		r := redact.New()
		for _, token := range known.Variables {
			_ = r.Add("github-token", token) // too short to be one
		}
		return r
	})
	known.Remember(redactor)
	return &app{Console: console.New(std, redactor), Tokens: known}
}
