package agents

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Encode writes a team as an agents file, which Parse reads back as an equal team. Of an entry
// the keys that only we know come last, below the task: the tool that the format comes from
// takes a line it does not know for a part of the text above.
func (t *Team) Encode() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "session: %s\nworktree_base: %s\nmain_pane: %t\n", scalar(t.Session), scalar(t.WorktreeBase), t.MainPane)
	if !t.Notifications {
		b.WriteString("notifications: false\n")
	}
	if t.NamespaceBranches {
		b.WriteString("namespace_branches: true\n")
	}
	line(&b, "", "provider", t.Provider)
	list(&b, "", "on_complete", t.OnComplete)
	b.WriteString("\nagents:\n")
	for i := range t.Agents {
		t.Agents[i].encode(&b, t)
	}
	return []byte(b.String())
}

func (a *Agent) encode(b *strings.Builder, t *Team) {
	const in = "    "
	fmt.Fprintf(b, "  - name: %s\n", scalar(a.Name))
	if a.Role != RoleBuild {
		line(b, in, "role", a.Role)
	}
	line(b, in, "branch", a.Branch)
	list(b, in, "scope", a.Scope)
	list(b, in, "context", a.Context)
	list(b, in, "depends_on", a.DependsOn)
	if a.AutoAccept {
		b.WriteString(in + "auto_accept: true\n")
	}
	if a.Provider != t.Provider {
		line(b, in, "provider", a.Provider)
	}
	line(b, in, "model", a.Model)
	switch {
	case slices.Equal(a.OnComplete, t.OnComplete):
	case len(a.OnComplete) == 0:
		b.WriteString(in + "on_complete: []\n")
	default:
		list(b, in, "on_complete", a.OnComplete)
	}
	line(b, in, "task", a.Task)
	line(b, in, "from", a.From)
	if a.Issue != 0 {
		fmt.Fprintf(b, "%sissue: %d\n", in, a.Issue)
	}
}

func line(b *strings.Builder, in, key, value string) {
	if value != "" {
		fmt.Fprintf(b, "%s%s: %s\n", in, key, scalar(value))
	}
}

func list(b *strings.Builder, in, key string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "%s%s:\n", in, key)
	for _, item := range items {
		fmt.Fprintf(b, "%s  - %s\n", in, scalar(item))
	}
}

// plainRule matches texts that YAML reads as they are, without quotes.
var plainRule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\.\.|[A-Za-z0-9_./])(?:[A-Za-z0-9_./,;()'+=-]| [A-Za-z0-9_./,;()'+=-])*$`)
})

// scalar is a text as YAML, without quotes where it means the same: quotes are one more thing
// that other readers of the file might take for a part of the text.
func scalar(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "---", "...":
	default:
		if plainRule().MatchString(text) {
			return text
		}
	}
	return strconv.Quote(text)
}
