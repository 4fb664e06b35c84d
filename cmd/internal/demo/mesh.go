package demo

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

//go:embed mesh.yaml
var meshYAML []byte

//go:embed mesh.json
var meshTable []byte

//go:embed mesh_playbook.yaml
var meshPlaybook []byte

// meshTableFile is where the table of who may write what to whom lies in a project.
const meshTableFile = "meshes/mesh-configs/shop.json"

// RunMesh plays the demonstration of messages: one agent writes a test, one passes it, one says it
// better. They write to one another along a table, which refuses one message, and ask the person, who
// answers.
func RunMesh(ctx context.Context, o Options) error {
	return runTeam(ctx, o, `Agents write to one another: red writes a test, green passes it, refactor
says it better. Scripted agents in tmux; no token, no model, no network.`, func(st *stage) []func(context.Context) error {
		return []func(context.Context) error{st.prepareMesh, st.startMesh, st.answerMesh, st.showMesh}
	})
}

func (st *stage) prepareMesh(ctx context.Context) error {
	if err := st.furnishAgents(ctx, meshPlaybook, meshYAML, map[string][]byte{meshTableFile: meshTable}); err != nil {
		return err
	}
	st.page.heading("Who may write what to whom: " + meshTableFile)
	st.page.indented("  ", strings.TrimSpace(string(meshTable)))
	return nil
}

// startMesh runs the agents for a person at a terminal, who can be asked.
func (st *stage) startMesh(ctx context.Context) error {
	st.page.heading("One of them asks the person")
	st.page.print("$ agentmux agents start --yes   # in another terminal")
	socket := filepath.Join(st.runtime(), "agentmux", "person.sock") // ended like those of ours
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return err
	}
	out, err := st.command(ctx, st.clone(), "tmux", "-f", "/dev/null", "-S", socket, "new-session", "-d", "-x", "80", "-y", "24",
		"env", "-u", "TMUX", st.Self, "agents", "start", "--yes").CombinedOutput()
	if err != nil {
		return fmt.Errorf("open a terminal: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// meshStatus is what agentmux status tells of the run.
type meshStatus struct {
	Outcome   string `json:"outcome"`
	Questions []struct {
		ID string `json:"id"`
	} `json:"questions"`
}

// until asks for the status of the run until it is as wanted.
func until(ctx context.Context, st *stage, what string, want func(meshStatus) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, waitTime, fmt.Errorf("it did not happen within %s that %s", waitTime, what))
	defer cancel()
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	for {
		var now meshStatus
		out, err := st.command(ctx, st.clone(), st.Self, "status", "shop", "--json").Output()
		if json.Unmarshal(out, &now) == nil && want(now) { // until the run is there, it is an error
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// answerMesh answers the question of an agent, and waits for the end of the run.
func (st *stage) answerMesh(ctx context.Context) error {
	if err := until(ctx, st, "an agent asks", func(s meshStatus) bool { return len(s.Questions) > 0 }); err != nil {
		return err
	}
	if err := st.agentmux(ctx, 0, "answer", "The price is with tax."); err != nil {
		return err
	}
	return until(ctx, st, "the agents are done", func(s meshStatus) bool { return s.Outcome != "" })
}

// showMesh prints the messages and what came of them, and removes the worktrees.
func (st *stage) showMesh(ctx context.Context) error {
	st.page.heading("What they wrote to one another")
	for _, args := range [][]string{{"msg", "list", "--session", "shop"}, {"msg", "read", "refactor-4", "--session", "shop"}} {
		if err := st.agentmux(ctx, 0, args...); err != nil {
			return err
		}
	}
	st.page.heading("What red was told when it wrote")
	if err := st.user(ctx, "grep", "^msg_send:", ".agentmux/.sessions/shop/transcripts/1.build.red.1.log"); err != nil {
		return err
	}
	st.page.heading("What came of it")
	if err := st.agentmux(ctx, 0, "agents", "status"); err != nil {
		return err
	}
	if err := st.user(ctx, "git", "--no-pager", "show", "--format=%D: %s", "shop/refactor"); err != nil {
		return err
	}
	return st.agentmux(ctx, 0, "agents", "cleanup")
}
