package account

import (
	"context"
	"errors"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// Handed is an identity on its way to another process of the same person. It holds the token:
// it goes through a pipe, never into a file, an argument or the environment.
type Handed struct {
	Mode   transport.Mode `json:"mode,omitempty"`  // empty: no account
	Token  string         `json:"token,omitempty"` // empty for an App, which makes its own
	From   string         `json:"from,omitempty"`
	API    string         `json:"api"` // with Server, the server that the token was read for
	Server string         `json:"server"`
	Unfit  string         `json:"unfit,omitempty"` // a variable with a token for another server
	File   string         `json:"file,omitempty"`  // where the token was read; empty: not in a file
}

// Hand returns the identity for another process.
func (id Identity) Hand(ctx context.Context) (Handed, error) {
	h := Handed{From: id.From, File: id.file, API: id.Bases.API, Server: id.Bases.Server, Unfit: id.unfit}
	if id.Tokens == nil {
		return h, nil
	}
	h.Mode = id.Tokens.Mode()
	if h.Mode == transport.ModeApp {
		return h, nil
	}
	secret, err := id.Tokens.Token(ctx)
	h.Token = secret.Reveal()
	return h, err
}

// Take returns the identity that another process found. Nothing is looked for: without an
// account there, there is none here. A token for another server than the configuration's is
// left out. t reads a token again that the server refuses; nothing else is taken of it.
func (h Handed) Take(c *config.Config, t *Tokens) (Identity, error) {
	id, err := bare(c)
	if err != nil || ActsAsApp(c) {
		return id, err
	}
	id.unfit = h.Unfit
	switch h.Mode {
	case "":
		return id, nil
	case transport.ModeToken, transport.ModeGH, transport.ModeActions:
	default:
		return id, settingsErr(errors.New("the account that was handed over is of no kind that the configuration names"))
	}
	if h.API != id.Bases.API || h.Server != id.Bases.Server {
		id.unfit = h.From
		return id, nil
	}
	if h.Token == "" {
		return id, settingsErr(errors.New("the account that was handed over has no token"))
	}
	again := *t
	again.File = h.File
	id.use(h.Mode, h.Token, h.From, again.reader(id, h.Mode, h.From), t.Replaced)
	id.file = h.File
	return id, nil
}
