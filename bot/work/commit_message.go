package work

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/agentmux/agentmux/ghsync/markdown"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/orchestrator"
)

// maxSubject is the length of a commit's first line, in characters.
const maxSubject = 72

// CommitMessage is what was chosen, or one made from the request, with our trailers.
func (r *Work) CommitMessage(chosen string, s *orchestrator.State) string {
	suffix := ""
	if s.IssueNumber > 0 {
		suffix = fmt.Sprintf(" (#%d)", s.IssueNumber)
	}
	subject, body, _ := strings.Cut(strings.TrimSpace(chosen), "\n")
	if subject = fitSubject(subject, suffix); subject == "" {
		subject = fitSubject("feat: "+cmp.Or(string(s.IssueTitle), r.FirstRequestLine()), suffix)
	}
	parts := []string{subject}
	// A space that is left at the start keeps the first line from ending the message.
	if body = strings.Trim(strings.TrimRight(markdown.PlainMessage(body), " \t"), "\n"); body != "" {
		parts = append(parts, body)
	}
	return strings.Join(append(parts, r.trailers(s)), "\n\n") + "\n"
}

// fitSubject is text as the first line of a commit. The issue's own number goes before other
// numbers are made harmless, because it is at the end in any case. Nothing is left of
// some texts; then it is "".
func fitSubject(text, suffix string) string {
	text = strings.TrimRight(strings.TrimSpace(text), ". ")
	text = strings.TrimRight(markdown.PlainTitle(strings.TrimSuffix(text, strings.TrimSpace(suffix))), ". ")
	if text == "" {
		return ""
	}
	runes := []rune(text)
	if room := maxSubject - len([]rune(suffix)); len(runes) > room {
		text = strings.TrimRight(string(runes[:room]), " .")
	}
	return text + suffix
}

func (r *Work) trailers(s *orchestrator.State) string {
	var lines []string
	if snap, err := r.IssueSnapshot(); err == nil && snap.Requester.ID > 0 && s.IssueNumber > 0 {
		lines = append(lines, fmt.Sprintf("Co-authored-by: %s <%d+%s@users.noreply.%s>",
			snap.Requester.Login, snap.Requester.ID, snap.Requester.Login, mailHost(r.ServerName)))
	}
	return strings.Join(append(lines, sessionTrailer(s)), "\n")
}

// sessionTrailer is the last line of each commit that people see.
func sessionTrailer(s *orchestrator.State) string {
	return "Agentmux-Session: " + orchestrator.PublicID(s.SessionID, s.Identity)
}

// mailHost is the server's name as an address of mail has it: without a port.
func mailHost(server string) string {
	if name, _, err := net.SplitHostPort(server); err == nil {
		return name
	}
	return server
}

// signature is the author of the commits people see: the person at the machine, else
// the account on GitHub, else the program.
func (r *Work) signature(ctx context.Context) (gitrepo.Signature, error) {
	user := r.project.User
	switch {
	case user.Name != "" && user.Mail != "":
		return gitrepo.Signature{Name: user.Name, Mail: user.Mail}, nil
	case r.GitHub == nil:
		return robot, nil
	}
	account, err := r.GitHub.Viewer(ctx)
	if err != nil {
		return gitrepo.Signature{}, err
	}
	return gitrepo.Signature{
		Name: account.Login, Mail: fmt.Sprintf("%d+%s@users.noreply.%s", account.ID, account.Login, mailHost(r.ServerName)),
	}, nil
}
