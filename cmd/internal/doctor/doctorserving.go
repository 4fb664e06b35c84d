package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/bot/admission"
	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/intake"
	"github.com/agentmux/agentmux/cmd/internal/console"
	"github.com/agentmux/agentmux/cmd/internal/site"
)

// probeSlots says how many sessions a bot runs here at a time, and what keeps the next from beginning.
func probeSlots(ctx context.Context, c *config.Config) Probe {
	const name = "slots"
	m := admission.Machine{StateHome: site.StateHome()}
	n := c.Bot.MaxConcurrent.N
	if c.Bot.MaxConcurrent.Auto {
		n = m.Slots(runtime.NumCPU())
	}
	detail := console.Counted(n, "session at a time", "sessions at a time")
	if m.Paused() {
		paused := filepath.Join(site.StateHome(), admission.PausedFile)
		return row(name, Warning, detail+"; none begins while "+paused+" is there", "rm "+paused)
	}
	if lacks := m.Lacks(ctx); len(lacks) > 0 {
		return row(name, Warning, detail+"; the next waits "+strings.Join(lacks, ", and "), "make room: agentmux clean removes ended sessions; what waits begins by itself")
	}
	return passed(name, "%s", detail)
}

// probeSecrets judges the secrets of webhooks as the bot does.
func probeSecrets(c *config.Config, variable string) Probe {
	const name = "webhook"
	secrets, err := intake.Secrets(c.Bot.WebhookSecretFile, variable)
	switch {
	case err != nil:
		return row(name, Failed, err.Error(), "agentmux bot --webhook refuses to begin with it; without --webhook polling does the same, a little later")
	case len(secrets) == 0:
		return skipped(name, "no secret: bot.webhook_secret_file is not set", "polling needs none")
	case len(secrets) == 2:
		return row(name, Warning, "2 secrets: deliveries signed by either are taken", "remove the former one when GitHub signs with the new one")
	}
	return passed(name, "1 secret")
}

// healthTime bounds the question to the bot that runs.
const healthTime = 3 * time.Second

// probeStatus looks whether /healthz can be served, or is: then it says what the bot that runs says.
func probeStatus(ctx context.Context, c *config.Config) Probe {
	const name = "status"
	addr := c.Bot.StatusAddr
	if addr == "" {
		return skipped(name, "bot.status_addr is empty: there is no /healthz and no /metrics", "")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return askHealth(ctx, addr)
	case err != nil:
		return row(name, Failed, "bot.status_addr: "+err.Error(), "set another address in your own configuration")
	}
	l.Close()
	if host, _, err := net.SplitHostPort(addr); err == nil && !isLoopback(host) {
		return row(name, Warning, addr+" is free; who reaches it reads /healthz and /metrics without a password", "bot.status_addr: 127.0.0.1:8464, and a proxy that asks who it is")
	}
	return passed(name, "%s is free; no bot serves it now", addr)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// askHealth asks who has the address.
func askHealth(ctx context.Context, addr string) Probe {
	const name, taken = "status", "set another bot.status_addr in your own configuration"
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	var health struct {
		Status   string
		Problems []string
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/healthz", addr), nil)
	if err != nil {
		return row(name, Failed, "bot.status_addr: "+err.Error(), taken)
	}
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		defer resp.Body.Close()
		err = json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&health)
	}
	switch {
	case err != nil || health.Status == "":
		return row(name, Failed, addr+" is in use by another program", taken)
	case len(health.Problems) > 0:
		return row(name, Warning, "a bot runs here and says:\n"+strings.Join(health.Problems, "\n"), "agentmux sessions says what it works on, its log why")
	}
	return passed(name, "a bot runs here, and serves %s", addr)
}
