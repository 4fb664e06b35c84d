package transport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/agentmux/agentmux/ghsync/transport/thing"
	"github.com/agentmux/agentmux/internal/redact"
)

// answer is what one try brought: a response whose body was read to the end, or an error.
type answer struct {
	resp *http.Response
	body []byte
	err  error
	sent bool // the request may have reached the server

	token redact.Secret // that was sent with the request
}

// readable reports whether a 2xx answer can be used as it is. A proxy's page or a body cut
// by the network is not an answer. A proxy may have taken the type off.
func (a answer) readable() bool {
	if a.err != nil {
		return false
	}
	if len(a.body) == 0 { // a 204 says that there is no body
		return a.resp.StatusCode != http.StatusOK && a.resp.StatusCode != http.StatusCreated
	}
	kind := a.resp.Header.Get("Content-Type")
	return !strings.Contains(kind, "html") && (kind != "" && !strings.Contains(kind, "json") || json.Valid(a.body))
}

// ErrUnreadable is the cause of an error for an answer that cannot be used.
var ErrUnreadable = errors.New("unreadable answer")

// blank reports whether a JSON body says nothing of what was read or made. An empty list
// does, and so does a body that is left out.
func (a answer) blank() bool {
	text := string(bytes.TrimSpace(a.body))
	return text == "null" || text == "{}"
}

// serverMessage is GitHub's error body.
type serverMessage struct {
	Message string `json:"message"`
	Docs    string `json:"documentation_url"`
	Errors  []struct {
		Resource, Field, Code, Message string
	} `json:"errors"`
}

// parseMessage reads what it can; GHES also sends errors as plain strings.
func parseMessage(body []byte) serverMessage {
	var m serverMessage
	if json.Unmarshal(body, &m) == nil {
		return m
	}
	var loose struct {
		Message string          `json:"message"`
		Docs    string          `json:"documentation_url"`
		Errors  json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(body, &loose) == nil {
		return serverMessage{Message: strings.TrimSpace(loose.Message + " " + string(loose.Errors)), Docs: loose.Docs}
	}
	return serverMessage{}
}

// text is the message with the details that GitHub hides in its list of errors.
func (m serverMessage) text() string {
	parts := []string{m.Message}
	for _, e := range m.Errors {
		switch {
		case e.Message != "":
			parts = append(parts, e.Message)
		case e.Code != "":
			parts = append(parts, strings.Trim(e.Resource+"."+e.Field+" "+e.Code, ". "))
		}
	}
	return clip(strings.Join(parts, ": "), 300)
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "..."
	}
	return s
}

// refusal turns a refusal of the server that no waiting cures into its typed error.
func refusal(c call, resp *http.Response, m serverMessage) error {
	switch resp.StatusCode {
	case http.StatusNotFound:
		return &NotFound{Kind: thing.Missing(c.path)}
	case http.StatusGone:
		return &NotFound{Kind: thing.Missing(c.path), Gone: true}
	}
	e := &Terminal{Status: resp.StatusCode, Message: cmp.Or(m.text(), http.StatusText(resp.StatusCode))}
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		e.Code, e.Hint = CodeUnauthorized, "the token is not valid (any more): set a new one"
	case http.StatusForbidden:
		e.Code, e.Hint = forbiddenCode(e.Message)
		if need := resp.Header.Get("X-Accepted-GitHub-Permissions"); need != "" && e.Code == CodeForbidden {
			e.Needs, e.Hint = need, "the token needs "+need
		}
	case http.StatusConflict:
		e.Code = CodeConflict
	case http.StatusUnavailableForLegalReasons:
		e.Code = CodeLegal
	default:
		e.Code = validationCode(m)
	}
	return e
}

func forbiddenCode(text string) (code, hint string) {
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "not permitted to create or approve pull requests"):
		return CodePRForbidden, "Settings -> Actions -> General -> Allow GitHub Actions to create and approve pull requests"
	case strings.Contains(lower, "installation has been suspended"):
		return CodeSuspended, "the owner of the installation can unsuspend it in its settings"
	case strings.Contains(lower, " locked"): // and not that the account is blocked
		return CodeLocked, ""
	}
	return CodeForbidden, "the token may not do this"
}

// validationCode finds the cause of a 422 in its texts; GitHub gives no codes of its own.
func validationCode(m serverMessage) string {
	var all strings.Builder
	all.WriteString(m.Message)
	for _, e := range m.Errors {
		all.WriteString("\n" + e.Resource + " " + e.Field + " " + e.Code + " " + e.Message)
	}
	text := strings.ToLower(all.String())
	for _, rule := range []struct{ part, code string }{
		{"reference already exists", CodeRefExists},
		{"reference update failed", CodeRefFailed},
		{"a pull request already exists", CodePRExists},
		{"no commits between", CodeNoCommits},
		{"draft pull requests are not supported", CodeDraftUnsupported},
		{"review cannot be requested from pull request author", CodeReviewFromAuthor},
		{"label name already_exists", CodeLabelExists},
		{"body is too long", CodeBodyTooLong},
		{"pullrequest head invalid", CodeHeadInvalid},
		{"head invalid", CodeHeadInvalid},
		{"head is invalid", CodeHeadInvalid},
		{"pullrequest base invalid", CodeBaseInvalid},
		{"no commit found for sha", CodeNoCommit},
	} {
		if strings.Contains(text, rule.part) {
			return rule.code
		}
	}
	return CodeValidation
}
