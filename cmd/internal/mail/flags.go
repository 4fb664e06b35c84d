package mail

import (
	"flag"
	"strings"
)

// FilterFlags returns the names of the flags that choose messages.
func FilterFlags() []string { return []string{"type", "agent", "mesh", "since", "before", "errors"} }

// defaultLimit is how many messages are shown unasked.
const defaultLimit = 50

// Flags returns the flags with these names, which set o.
func Flags(o *Options, names ...string) *flag.FlagSet {
	all := flag.NewFlagSet("", flag.ContinueOnError)
	all.StringVar(&o.Dir, "dir", "", "a `directory` of message files instead of a session: a project with .ai/tx, or the files themselves")
	all.StringVar(&o.Session, "session", "", "the `session` whose messages are meant (default: the only one)")
	all.BoolVar(&o.JSON, "json", false, "machine-readable output")
	all.IntVar(&o.Limit, "limit", defaultLimit, "only the last `N` of what is there; 0 = all")
	all.Func("type", "only these `types`: ask, ask-response, task, task-complete, update, prompt", func(text string) error {
		o.Types = append(o.Types, strings.Split(text, ",")...)
		return nil
	})
	all.StringVar(&o.Agent, "agent", "", "only from or to this `agent`, mesh/agent or the agent alone")
	all.StringVar(&o.Mesh, "mesh", "", "only from or to agents of this `mesh`")
	all.StringVar(&o.Since, "since", "", "only what is not older than an age such as 1h or 3d, or than a `moment`")
	all.StringVar(&o.Before, "before", "", "only what is older than an age, or than a `moment`")
	all.BoolVar(&o.Errors, "errors", false, "only what did not arrive: failed, expired, orphan")
	chosen := flag.NewFlagSet("", flag.ContinueOnError)
	for _, name := range names {
		f := all.Lookup(name)
		chosen.Var(f.Value, name, f.Usage)
	}
	return chosen
}
