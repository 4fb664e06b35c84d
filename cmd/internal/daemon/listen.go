package daemon

import (
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/agentmux/agentmux/bot/intake"
)

// listeners are the sockets beside the bot; nil: not asked for.
type listeners struct{ status, hooks net.Listener }

func (l listeners) close() {
	for _, one := range []net.Listener{l.status, l.hooks} {
		if one != nil {
			one.Close()
		}
	}
}

// listen opens the sockets, so that an address that is in use is told with the other problems.
func (p *planning) listen(ctx context.Context) {
	if p.wired.flags.DryRun {
		return
	}
	var err error
	if addr := p.config.Bot.StatusAddr; addr != "" && p.known("bot.status_addr") {
		if p.listeners.status, err = (&net.ListenConfig{}).Listen(ctx, "tcp", addr); err != nil {
			p.problem("bot.status_addr: %s: set another address in your configuration, or \"\" for none", listenWords(addr, err))
		}
	}
	if addr := p.wired.flags.Webhook; addr != "" {
		if p.listeners.hooks, err = intake.Listen(ctx, addr); err != nil {
			p.problem("--webhook: %s: give another address", listenWords(addr, err))
		}
	}
}

// listenWords says why an address cannot be listened at.
func listenWords(addr string, err error) string {
	if errors.Is(err, syscall.EADDRINUSE) {
		return addr + " is in use"
	}
	return err.Error()
}
