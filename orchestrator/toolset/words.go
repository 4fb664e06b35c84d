package toolset

import (
	"fmt"
	"strings"
)

// Answer is what a caller is told when its call is recorded. It names the topic of research
// and the id of a question.
func (t Tool) Answer(topic, question string) string {
	return strings.NewReplacer("{tool}", t.Name, "{topic}", topic, "{question}", question).Replace(t.Done)
}

// HandIn says how an agent calls the tool with the given values: the parameters for the
// prompt, and the words of the command behind "agentmux".
func (t Tool) HandIn(given map[string]string) (params string, words []string) {
	var told, flags []string
	words = strings.Fields(t.Command.Words)
	for _, p := range t.Params {
		value, ok := given[p.Name]
		switch {
		case !ok && p.Told != "":
			told = append(told, fmt.Sprintf("`%s`, %s", p.Name, p.Told))
		case !ok:
		case p.Type == TypeText:
			told = append(told, fmt.Sprintf("`%s` %q", p.Name, value))
		default:
			told = append(told, fmt.Sprintf("`%s` %s", p.Name, value))
		}
		switch {
		case !ok:
		case p.Arg != "":
			words = append(words, value)
		case p.Flag != "":
			flags = append(flags, "--"+p.Flag, value)
		}
	}
	if len(told) == 0 {
		told = []string{"none"}
	}
	return strings.Join(told, ", "), append(words, flags...)
}
