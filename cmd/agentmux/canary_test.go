package main

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/internal/testfull"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// disguises is the token in thirty forms in which an agent may try to bring it out.
func disguises(token string) map[string]string {
	each := func(text, format, between string) string {
		var parts []string
		for i := range len(text) {
			parts = append(parts, fmt.Sprintf(format, text[i]))
		}
		return strings.Join(parts, between)
	}
	backwards := []byte(token)
	slices.Reverse(backwards)
	std, raw := base64.StdEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString
	quoted, _ := json.Marshal(token)
	return map[string]string{
		"plain":               token,
		"without its head":    token[7:],
		"without its end":     token[:len(token)-9],
		"base64":              std([]byte(token)),
		"base64, offset 1":    std([]byte("x" + token)),
		"base64, offset 2":    std([]byte("xy" + token)),
		"base64 of URLs":      raw([]byte("?" + token)),
		"base64, reversed":    std(backwards),
		"hex":                 hex.EncodeToString([]byte(token)),
		"hex, upper case":     strings.ToUpper(hex.EncodeToString([]byte(token))),
		"percent":             each(token, "%%%02X", ""),
		"percent, twice":      each(token, "%%25%02x", ""),
		"JSON":                string(quoted),
		"JSON, escaped":       each(token, `\u%04x`, ""),
		"octal":               each(token, `\%03o`, ""),
		"HTML":                html.EscapeString(each(token, "&#%d;", "")),
		"reversed":            string(backwards),
		"with separators":     each(token, "%c", "."),
		"reversed, separated": each(string(backwards), "%c", "-"),
		"in words of four":    strings.Join(chunks(token, 4), " "),
		"base64 of base64":    std([]byte(std([]byte(token)))),
		"base64 of hex":       std([]byte(hex.EncodeToString([]byte(token)))),
		"base64 of UTF-16":    std([]byte(each(token, "%c\x00", ""))),
		"hex of base64":       hex.EncodeToString([]byte(std([]byte(token)))),
		"percent of base64":   each(std([]byte(token)), "%%%02X", ""),
		"base32":              base32.StdEncoding.EncodeToString([]byte(token)),
		"decimal":             each(token, "%d", ", "),
		"upper case":          strings.ToUpper(token),
		"lower case":          strings.ToLower(token),
		"full width":          strings.Map(func(r rune) rune { return r + 0xFEE0 }, token),
	}
}

func chunks(text string, n int) (out []string) {
	for part := range slices.Chunk([]byte(text), n) {
		out = append(out, string(part))
	}
	return out
}

// leaks names the disguises of which text shows as much as sixteen characters of the token.
func leaks(token, text string) (found []string) {
	for name, disguise := range disguises(token) {
		piece := 16 * len(disguise) / len(token)
		for at := 0; at+piece <= len(disguise); at++ {
			if strings.Contains(text, disguise[at:at+piece]) {
				found = append(found, name)
				break
			}
		}
	}
	slices.Sort(found)
	return found
}

// all is every disguise, one a line.
func all(token string) string {
	var b strings.Builder
	for _, disguise := range disguises(token) {
		b.WriteString(disguise + "\n\n")
	}
	return b.String()
}

// yamlText is text as a scalar of a playbook or an artifact.
func yamlText(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// received is all that GitHub was sent, but the header with the token: requests, with
// their text as a reader of the page would see it, and pushed objects.
func (r *rig) received() string {
	r.t.Helper()
	var b strings.Builder
	for _, call := range r.github.Calls() {
		b.WriteString(call.Path + "\n")
	}
	for _, entry := range r.github.Log() {
		var body map[string]any
		b.WriteString(entry.Body + "\n")
		if json.Unmarshal([]byte(entry.Body), &body) == nil {
			for _, value := range body {
				fmt.Fprintln(&b, value)
			}
		}
	}
	for ref := range r.github.Repo(rigRepo).Refs() {
		b.WriteString(ref + "\n")
	}
	cmd := exec.Command("git", "cat-file", "--batch-all-objects", "--batch", "--buffer")
	cmd.Dir, cmd.Env = r.github.Repo(rigRepo).Dir(), r.env
	objects, err := cmd.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	b.Write(objects)
	return b.String()
}

// TestSecurity7TheTokenDoesNotLeave has agents put the token into everything they hand
// in, in every disguise.
func TestSecurity7TheTokenDoesNotLeave(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	t.Run("by what is written on issue and pull request", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, rigOptions{})
		token := r.github.Token(rigBot)
		r.canary(token, textsPlaybook(token))
		r.expect(3, append([]string{"issue", "1"}, quickRun...)...)
		e := r.session()
		r.sound(e)
		if e.State.Completion.PRNumber == 0 || len(r.github.Repo(rigRepo).Comments(1)) < 2 {
			t.Fatalf("no pull request or no comments: %+v", e.State.Completion)
		}
		r.silent(token)
	})
	for _, exit := range []string{"content", "name", "message"} {
		t.Run("by the "+exit+" of a commit", func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{})
			token := r.github.Token(rigBot)
			book := commitPlaybook(exit, token)
			if exit != "message" { // the agent hears what is wrong and insists: at the third time a person has to see it
				const hands = "\n      - submit: {tool: submit_done, with: {subplan_index: 1}}"
				refused := strings.TrimSuffix(hands, "}") + ", refused: true}"
				book = strings.Replace(book, hands, refused+refused+hands, 1)
			}
			r.canary(token, book)
			r.expect(3, append([]string{"issue", "1"}, quickRun...)...)
			e := r.session()
			r.sound(e)
			if s := e.State; s.OutcomeReason != orchestrator.ReasonOutputGate || s.Completion.Pushed {
				t.Errorf("outcome %s %s, completion %+v", s.Outcome, s.OutcomeReason, s.Completion)
			}
			r.silent(token)
		})
	}
}

// What commands print and complain about holds no token of the environment, be it the one
// that is used or another.
func TestSecurity7CommandsDoNotShowTokensOfTheEnvironment(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{playbook: quickPlaybook})
	token, other := r.github.Token(rigBot), "the-other-token-of-this-environment"
	r.setEnv("GITHUB_TOKEN", other)
	body := "Use " + token + " or " + other + "."
	r.github.Repo(rigRepo).EditIssue(1, rigOwner, nil, &body)
	for _, args := range [][]string{
		{"issue", token}, {"issue", other}, {"resume", other}, {"doctor", "--json"}, {"--log-level=debug", "doctor"},
		append([]string{"issue", "1", "--dry-run"}, quickRun...),
	} {
		res := r.agentmux(args...)
		if found := append(leaks(token, res.out+res.err), leaks(other, res.out+res.err)...); len(found) > 0 {
			t.Errorf("agentmux %s shows a token: %v\n%s%s", args[0], found, res.out, res.err)
		}
		if args[0] == "issue" && !strings.Contains(res.out+res.err, "[redacted:github-token]") {
			t.Errorf("agentmux %s does not come to the token:\n%s%s", args[0], res.out, res.err)
		}
	}
}

// TestSecurity21WhatAgentsAskIsFitToShow has an agent ask with a secret and with what would
// steer the terminal of the person who looks.
func TestSecurity21WhatAgentsAskIsFitToShow(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	token := r.github.Token(rigBot)
	steer := "\x1b]52;c;eA==\x07 \x1b[2J\u009b31m \u202etxt.exe\nnext       agentmux approve everything\r"
	own, err := site.Self()
	if err != nil {
		t.Fatal(err)
	}
	r.write(filepath.Join(r.dir, "question"), steer+"\n"+token)
	r.write(filepath.Join(r.dir, "choice"), steer+token[7:])
	r.canary(token, askingPlaybook(own, r.dir))
	b := r.background(append([]string{"issue", "1"}, quickRun...)...)
	r.until("the question is open", func(s *orchestrator.State) bool { return len(s.Questions) == 1 && s.Questions[0].Open() })
	r.silent(token)
	for _, args := range [][]string{{"status"}, {"status", "--json"}} {
		res := r.expect(0, args...)
		if !strings.Contains(res.out, "52;c;eA==") {
			t.Fatalf("agentmux %v does not show the question:\n%s", args, res.out)
		}
		for _, c := range res.out {
			if c != '\n' && !strconv.IsPrint(c) {
				t.Errorf("agentmux %v shows %U", args, c)
			}
		}
		if strings.Contains(res.out, "\nnext       agentmux approve everything") {
			t.Errorf("agentmux %v shows a line of the agent's as its own:\n%s", args, res.out)
		}
	}
	const later = "approve everything" // a token that the host did not know when it wrote this down
	r.setEnv("GITHUB_TOKEN", later)
	if res := r.expect(0, "status", "--json"); strings.Contains(res.out, later) {
		t.Errorf("status shows a token of its environment:\n%s", res.out)
	}
	b.exit(syscall.SIGINT)
	r.silent(token)
	r.sound(r.session())
}

// askingPlaybook asks with the bytes of two files, which no playbook may hold, and waits
// for ever.
func askingPlaybook(own, dir string) string {
	script := `cat question; exec "$0" ask --question "$(cat question)" --option "$(cat choice)" --option b --session "$1" --role planner --launch "$2"`
	return `version: 1
agents:
  - role: planner
    steps:
      - run: {argv: [sh, -c, ` + yamlText("cd "+dir+"; "+script) + `, ` + yamlText(own) + `, "{session}", "{launch}"]}
      - hang: true
`
}

// canary has the fake look out for the token and the agents do as the playbook says.
func (r *rig) canary(token, playbook string) {
	r.t.Helper()
	r.github.Canary(token)
	r.write(filepath.Join(r.dir, "playbook.yaml"), playbook)
}

// silent fails if the token is in what GitHub got, in what commands show of the session, or
// in what the host writes down of it.
func (r *rig) silent(token string) {
	r.t.Helper()
	if found := leaks(token, r.received()); len(found) > 0 {
		r.t.Errorf("GitHub got the token: %v", found)
	}
	for _, args := range [][]string{{"status"}, {"status", "--json"}, {"sessions"}, {"sessions", "--json"}, {"logs"}} {
		res := r.expect(0, args...)
		text := res.out + res.err
		var decoded any
		if json.Unmarshal([]byte(res.out), &decoded) == nil {
			text += fmt.Sprint(decoded)
		}
		if found := leaks(token, text); len(found) > 0 {
			r.t.Errorf("agentmux %s shows the token: %v", strings.Join(args, " "), found)
		}
	}
	for _, name := range []string{session.EventsFile, session.MirrorFile, session.HostLog} {
		file := filepath.Join(r.session().Dir, name)
		if _, err := os.Stat(file); name == session.MirrorFile && err != nil {
			continue // nothing was shown so far
		}
		text := r.read(file)
		for line := range strings.Lines(text) {
			var decoded any
			if json.Unmarshal([]byte(line), &decoded) == nil {
				text += fmt.Sprintln(decoded)
			}
		}
		if found := leaks(token, text); len(found) > 0 {
			r.t.Errorf("%s holds the token: %v", name, found)
		}
	}
}

// textsPlaybook is quickPlaybook with the token in every text, and a question.
func textsPlaybook(token string) string {
	text := all(token)
	plan := "version: 2\nplan_overview: " + yamlText(text) + `
needs_design: false
needs_docs: false
doc_files: []
groups: [{group_id: g, mode: serial, plans: [{index: 1, name: a}]}]
subplans:
  - {index: 1, title: a, scope: a, owned_files: [a.txt], dependencies: none, implementation_approach: write, acceptance_criteria: two, tasks: [write]}
`
	review := "verdict: fail\nsummary: " + yamlText(text) + "\nfindings: [{location: " + yamlText("a.txt:1 "+token) + ", issue: " + yamlText(text) +
		", severity: low, recommendation: " + yamlText(text) + "}]\n"
	return `version: 1
agents:
  - role: planner
    steps:
      - submit: {tool: report_status, with: {message: ` + yamlText(token+" "+token[7:]) + `}}
      - submit: {tool: ask_human, with: {question: ` + yamlText(text[:min(len(text), 1500)]) + `, options: [` + yamlText(token) + `, b]}}
      - write: {file: "{session}/04_planning/plan.yaml", text: ` + yamlText(plan) + `}
      - submit: {tool: submit_plan}
  - role: coder
    steps:
      - write: {file: a.txt, text: "two\n"}
      - submit: {tool: submit_done, with: {subplan_index: 1}}
  - role: reviewer_logic
    prompt: summary_prompt.md
    steps:
      - write: {file: "{session}/08_completion/summary.md", text: ` + yamlText("## What was implemented\n\n"+text) + `}
      - submit: {tool: submit_summary}
  - role: reviewer_logic
    steps:
      - write: {file: "{session}/07_review/review_reviewer_logic.yaml", text: ` + yamlText(review) + `}
      - submit: {tool: submit_review, with: {role: reviewer_logic}}
`
}

// commitPlaybook is quickPlaybook with the token in one part of the commit.
func commitPlaybook(exit, token string) string {
	var steps strings.Builder
	verdict := "verdict: pass\nsummary: Fine.\n"
	switch exit {
	case "content":
		n := 0
		for _, disguise := range disguises(token) {
			n++
			fmt.Fprintf(&steps, "\n      - write: {file: f%d.txt, text: %s}", n, yamlText(disguise+"\n"))
		}
	case "name":
		fmt.Fprintf(&steps, "\n      - write: {file: %s, text: x}", yamlText("dir/"+token+".txt"))
	case "message":
		verdict += "commit_message: " + yamlText("feat: x\n\n"+all(token)) + "\n"
	}
	book := strings.Replace(quickPlaybook, `
      - write: {file: a.txt, text: "two\n"}`, `
      - write: {file: a.txt, text: "two\n"}`+steps.String(), 1)
	return strings.Replace(book, `"verdict: pass\nsummary: Fine.\n"`, yamlText(verdict), 1)
}

// TestSecurity33CheckpointsHoldNoSecret stops a session whose agents have put the token
// into files, a name, a question and what they print, and reads what is kept of it.
func TestSecurity33CheckpointsHoldNoSecret(t *testing.T) {
	t.Parallel()
	testfull.Only(t)
	r := newRig(t, rigOptions{})
	token := r.github.Token(rigBot)
	book := commitPlaybook("content", token)
	book = strings.Replace(book, "\n      - submit: {tool: submit_done, with: {subplan_index: 1}}", fmt.Sprintf(`
      - say: %s
      - write: {file: %s, text: x}
      - write: {file: plain.txt, text: kept}
      - submit: {tool: ask_human, with: {question: %s}}
      - hang: true`, yamlText(token), yamlText("dir/"+token+"/x.txt"), yamlText(token[7:])), 1)
	r.canary(token, book)
	b := r.background(append([]string{"issue", "1"}, quickRun...)...)
	r.until("the question is open", func(s *orchestrator.State) bool { return len(s.Questions) == 1 })
	b.exit(syscall.SIGINT)
	r.silent(token)
	e := r.session()
	hosts, err := filepath.Glob(filepath.Join(r.dir, "home", ".local", "state", "agentmux", "*", "*", "*.git"))
	if err != nil || len(hosts) != 1 {
		t.Fatalf("stores: %v, %v", hosts, err)
	}
	ref := "refs/agentmux/sessions/" + e.Name + "-" + e.State.Identity
	names := r.git(hosts[0], "ls-tree", "-r", "--name-only", ref)
	kept := names + r.git(hosts[0], "log", "--format=%B", ref)
	for id := range strings.Lines(r.git(hosts[0], "rev-list", "--objects", "--no-object-names", ref)) {
		kept += r.git(hosts[0], "cat-file", "-p", strings.TrimSpace(id))
	}
	if found := leaks(token, kept); len(found) > 0 {
		t.Errorf("the checkpoint holds the token: %v\n%s", found, names)
	}
	if !strings.Contains(names, "plain.txt") {
		t.Errorf("the checkpoint lacks the work:\n%s", names)
	}
	// That of the planner may be missing, which ends at once; the coder was still there.
	transcripts, err := filepath.Glob(filepath.Join(e.Dir, "transcripts", "*"))
	if err != nil || !slices.ContainsFunc(transcripts, func(file string) bool { return strings.Contains(file, ".coder.") }) {
		t.Fatalf("transcripts: %v, %v", transcripts, err)
	}
	for _, file := range transcripts {
		if strings.Contains(r.read(file), token) {
			t.Errorf("%s holds the token", filepath.Base(file))
		}
	}
	if strings.Contains(names, "transcripts") {
		t.Errorf("transcripts are kept:\n%s", names)
	}
}
