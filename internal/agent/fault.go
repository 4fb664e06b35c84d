package agent

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Fault is why a program's service stops it.
type Fault string

// The faults.
const (
	FaultLogin  Fault = "login"  // it refuses the key or the login
	FaultLimit  Fault = "limit"  // it refuses more for now
	FaultOutage Fault = "outage" // it does not work or cannot be reached
)

// Exits are parts of the last words of a program that its service stopped.
type Exits struct {
	Login  []string `doc:"login"`
	Limit  []string `doc:"limit"`
	Outage []string `doc:"outage"`
}

// Fault returns the fault that the words of a program's error name, or "".
func (p Provider) Fault(words string) Fault {
	fault, _ := p.LastWords(words, false)
	return fault
}

// LastWords returns the fault that a program's last words name, or "", and the words around its name, in which the
// service may say more. A program that ended without an error may have answered anything: in its words only a fault
// counts that is the whole answer or an event of an error, not one that they are about.
func (p Provider) LastWords(words string, answered bool) (fault Fault, around string) {
	for _, f := range []struct {
		Fault
		texts []string
	}{{FaultLogin, p.Exits.Login}, {FaultLimit, p.Exits.Limit}, {FaultOutage, p.Exits.Outage}} {
		var found []string
		for line := range strings.Lines(words) {
			found = append(found, named(strings.TrimRight(line, "\r\n"), f.texts, answered, p.Stream == "")...)
		}
		if len(found) > 0 {
			return f.Fault, strings.Join(found, "\n")
		}
	}
	return "", ""
}

// endLines is how many of a program's last lines may name a fault of its service. The lines above are
// its work, which may be about anything.
const endLines = 8

// AtEnd is LastWords for the end of a launch's pane. A stream that is shown as text tells a failure as an event: where the
// program ended without an error, what its agent and tools said last is about no refusal, but for programs that show one
// as their answer.
func (p Provider) AtEnd(l Launch, tail string, answered bool) (fault Fault, around string) {
	lines := strings.Split(tail, "\n")
	lines = lines[max(0, len(lines)-endLines):]
	switch {
	case !answered || l.Stream == "":
	case l.Stream != "claude":
		return "", ""
	default:
		lines = slices.DeleteFunc(lines, func(line string) bool { return strings.IndexAny(strings.TrimSpace(line), "<>!*-•+") == 0 })
	}
	return p.LastWords(strings.Join(lines, "\n")+"\n"+strings.Join(lines, ""), answered) // a pane breaks long ones
}

// aroundFault is how many bytes of a line before and behind the name of a fault may be of the same message.
const aroundFault = 400

// named returns the parts of a line around the texts that are found in it. raw says that the program's stream is shown as
// it is: events, in which the text of a model has its quotes escaped.
func named(line string, texts []string, answered, raw bool) (found []string) {
	folded := fold(line)
	for _, text := range texts {
		text = fold(text)
		for from := 0; ; {
			i := strings.Index(folded[from:], text)
			if i < 0 {
				break
			}
			i += from
			from = i + len(text)
			if !answered || raw && strings.HasPrefix(text, `"`) || isRefusal(line[:i], raw) {
				found = append(found, strings.ToValidUTF8(line[max(0, i-aroundFault):min(len(line), from+aroundFault)], ""))
			}
		}
	}
	return found
}

// fold makes letters small that names of faults have. The length of the text stays.
func fold(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

var (
	// wholeForm is what is before a refusal that is shown as an answer: nothing but marks, in a line or a JSON string.
	wholeForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|"(?:result|text|message|content)":")[^\pL\pN"]*(?:error[^\pL\pN"]*)?$`)
	})
	// eventForm begins an event or a part of one.
	eventForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"type": ?"([A-Za-z._-]{1,40})"`) })
)

// isRefusal reports whether the words before the name of a fault make it the program's, not its model's.
func isRefusal(before string, raw bool) bool {
	if wholeForm().MatchString(before) {
		return true
	}
	if !raw {
		return false
	}
	events := eventForm().FindAllStringSubmatch(before, -1)
	return len(events) > 0 && slices.ContainsFunc([]string{"error", "failed"}, func(kind string) bool {
		return strings.Contains(strings.ToLower(events[len(events)-1][1]), kind)
	})
}

// screenLines is how many of the last lines of a screen may name a fault: a program shows its input below it.
const screenLines = 16

// noticeForm begins a line in which a program shows an error of its own.
var noticeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\pL\pN"]*[■✕✗✘✖×⨯]`) })

// OnScreen is LastWords for the screen of a program that waits for input. The work of its agent may be about any fault: only
// what is below the last line that it was told counts, in a line that begins with the name or with the mark of an error.
func (p Provider) OnScreen(screen string) (fault Fault, around string) {
	lines := strings.Split(strings.TrimRight(screen, " \n"), "\n")
	lines = lines[max(0, len(lines)-screenLines):]
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], Opening) || strings.Contains(lines[i], " and act on it.") {
			break // above is what it answered before
		}
		if noticeForm().MatchString(lines[i]) {
			fault, around = p.LastWords(paragraph(lines[i:]), false)
		} else {
			fault, around = p.LastWords(lines[i], true)
		}
		if fault != "" {
			break
		}
	}
	return fault, around
}

// paragraph returns the lines before the first empty one as one: a terminal breaks them where its width ends.
func paragraph(lines []string) string {
	n := slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
	if n < 0 {
		n = len(lines)
	}
	words := make([]string, 0, n)
	for _, line := range lines[:n] {
		words = append(words, strings.TrimSpace(line))
	}
	return strings.Join(words, " ")
}

// Repair says what gives the program a login.
func (p Provider) Repair() string {
	switch {
	case len(p.LoginArgs) > 0:
		return "agentmux providers login " + p.Name
	case len(p.Credentials) > 0:
		return "set " + strings.Join(p.Credentials, " or ")
	}
	return "log " + p.Name + " in"
}
