package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/show"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/internal/usage"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// toldUsage is what a launch of playedClaude used.
var toldUsage = usage.Usage{Cached: 200, Input: 1200, Money: 0.05, Output: 34, Reasoning: 4, Turns: 1}

// playedClaude takes the place of claude: it does what a playbook says, and tells at its end what it used, as
// the first turn of a session.
const playedClaude = `#!/bin/sh
case "$1" in
--version) echo "2.1.330 (Claude Code)"; exit ;;
--help) echo "--print --output-format --verbose --model --mcp-config --strict-mcp-config --settings --session-id --resume --permission-mode --allowedTools --disallowedTools"; exit ;;
esac
for word; do
	case "$before" in
	-p) prompt=$word ;;
	--mcp-config) mcp=$word ;;
	esac
	before=$word
done
at=${mcp%/config/mcp.json}
launch=${at##*/}
key=${launch#*.}
key=${key%.*}
case "$key" in
*.*) task="--task ${key#*.}" ;;
esac
echo '{"type":"result","subtype":"success","num_turns":1,"session_id":"s","total_cost_usd":0.05,"usage":{"input_tokens":900,"cache_creation_input_tokens":100,"cache_read_input_tokens":200,"output_tokens":34,"output_tokens_details":{"thinking_tokens":4}}}'
exec "$SELF" play "$BOOK" --fast --session "${at%/launches/*}" --role "${key%%.*}" $task --launch "$launch" --prompt "$prompt"
`

// withPlayedClaude makes the provider claude such a program.
func (r *rig) withPlayedClaude() {
	r.t.Helper()
	self, err := inPanes()
	if err != nil {
		r.t.Fatal(err)
	}
	program := filepath.Join(r.dir, "claude")
	r.write(program, strings.NewReplacer(`"$SELF"`, quote(self), `"$BOOK"`, quote(filepath.Join(r.dir, "playbook.yaml"))).Replace(playedClaude))
	if err := os.Chmod(program, 0o700); err != nil {
		r.t.Fatal(err)
	}
	file := filepath.Join(r.dir, "home", ".config", "agentmux", "config.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	r.write(file, strings.Replace(string(text), "providers:\n", fmt.Sprintf("providers:\n  claude: {command: %q}\n", program), 1))
	r.setEnv("ANTHROPIC_API_KEY", rand.Text())
}

// ends are the records of the ends of launches.
func (r *rig) ends(e session.Entry) (list []orchestrator.AgentExitedRecord) {
	r.t.Helper()
	sess, err := session.Open(e.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	records, _, err := sess.Events(0)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, record := range records {
		if d, ok := record.Data.(orchestrator.AgentExitedRecord); ok {
			list = append(list, d)
		}
	}
	return list
}

// What the launches used is in their records, and added up in the status, on the issue and in the pull
// request; that of a launch whose program told nothing is not known there. The records are enough: a
// session that was continued elsewhere has no files of its earlier launches.
func TestUsageIsToldEverywhere(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{playbook: quickPlaybook, config: "roles: {planner: {provider: claude}, coder: {provider: claude}}\nagents: {transport: headless}\n"})
	r.withPlayedClaude()
	r.expect(0, append([]string{"issue", "1"}, quickRun...)...)
	e := r.session()
	ended := 0
	for _, d := range r.ends(e) {
		ended++
		tells := d.Role == "planner" || d.Role == "coder"
		if tells != (d.Usage != nil) || tells && *d.Usage != toldUsage {
			t.Errorf("the record of %s tells %+v", d.Launch, d.Usage)
		}
		if tells {
			var file usage.Usage
			if text := r.read(e.Dir, "launches", string(d.Launch), "usage.json"); json.Unmarshal([]byte(text), &file) != nil || file != toldUsage {
				t.Errorf("usage.json of %s: %s", d.Launch, text)
			}
		}
	}
	if err := os.RemoveAll(filepath.Join(e.Dir, "launches")); err != nil {
		t.Fatal(err)
	}
	all := story.Spent{Usage: toldUsage.Add(toldUsage), Launches: ended, Unknown: ended - 2}
	var status show.StatusJSON
	if out := r.expect(0, "status", e.Name, "--json").out; json.Unmarshal([]byte(out), &status) != nil || status.Usage == nil || status.Usage.Spent != all || len(status.Usage.Roles) != 3 {
		t.Errorf("status --json: %s", out)
	}
	if ended < 4 || !strings.Contains(r.expect(0, "status", e.Name).out, all.String()) || !strings.HasPrefix(all.String(), "2400 in, 68 out, 0.10 USD (not known of ") {
		t.Errorf("%d launches, %q is not in\n%s", ended, all, r.expect(0, "status", e.Name).out)
	}
	repo := r.github.Repo(rigRepo)
	for what, text := range map[string]string{"the status comment": repo.Comments(1)[0].Body, "the pull request": repo.Pulls()[0].Body} {
		if !strings.Contains("\n"+text, "\nTokens: 2400 in, 68 out, 0.10 USD (not known of ") || !strings.Contains(text, "; coder: 1200 in, 34 out, 0.05 USD; planner: 1200 in") {
			t.Errorf("%s does not tell it:\n%s", what, text)
		}
	}
}

// A launch that exits by itself without handing anything in has used what it says, too.
func TestUsageOfALaunchThatFails(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{
		playbook: "version: 1\nagents:\n  - role: planner\n    steps: [{exit: 7}]\n",
		config:   "roles: {planner: {provider: claude}}\nagents: {transport: headless}\nlimits: {agent_retries: 0}\n",
	})
	r.withPlayedClaude()
	r.expect(exit.NeedsHuman, append([]string{"issue", "1"}, quickRun...)...)
	ends := r.ends(r.session())
	if len(ends) != 1 || ends[0].Usage == nil || *ends[0].Usage != toldUsage || ends[0].Expected || ends[0].ExitCode == nil || *ends[0].ExitCode != 7 {
		t.Errorf("records %+v", ends)
	}
	if body := r.github.Repo(rigRepo).Comments(1)[0].Body; !strings.Contains(body, "\nTokens: 1200 in, 34 out, 0.05 USD\n") {
		t.Errorf("the status comment does not tell it:\n%s", body)
	}
}
