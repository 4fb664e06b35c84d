package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/agentmux/agentmux/internal/ratelimit"
)

// graphqlResource is the name of the quota that GraphQL has of its own.
const graphqlResource = "graphql"

// GraphQLError is one entry of a GraphQL answer's errors.
type GraphQLError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Path    []any  `json:"path"` // of the field that is not given
}

// firstError returns the error of an answer that decides: one that passes with time, else the
// first, else the zero value. An answer with neither errors nor data is a server's mistake.
func (a answer) firstError() GraphQLError {
	var body struct {
		Data   json.RawMessage `json:"data"`
		Errors []GraphQLError  `json:"errors"`
	}
	err := json.Unmarshal(a.body, &body)
	switch {
	case err == nil && len(body.Errors) > 0:
		if i := slices.IndexFunc(body.Errors, func(e GraphQLError) bool { return e.limits() || e.passes() }); i >= 0 {
			return body.Errors[i]
		}
		return body.Errors[0]
	case err != nil, len(body.Data) == 0, bytes.Equal(body.Data, []byte("null")):
		return GraphQLError{Type: noAnswer, Message: ErrUnreadable.Error()}
	}
	return GraphQLError{}
}

// noAnswer is the type of an error that the server did not send.
const noAnswer = "NO_ANSWER"

func (e GraphQLError) limits() bool { return ratelimit.StopsQuery(e.Type, e.Message) }

// passes reports whether the query failed for a reason that another try may not meet. Of a
// query that took too long, or met a fault of its own, GitHub says no more than a sentence.
func (e GraphQLError) passes() bool {
	text := strings.ToLower(strings.TrimSpace(e.Message))
	return slices.Contains([]string{noAnswer, "SERVICE_UNAVAILABLE", "INTERNAL", "INTERNAL_ERROR", "INTERNAL_SERVER_ERROR"}, e.Type) ||
		strings.HasPrefix(text, "something went wrong") ||
		strings.Contains(text, "respond to your request in time")
}

// GraphQLFailure types the first error that is neither a limit nor passes. It is foreign if what was asked for
// is there and a field of it is not given: one of an organisation with a login of its own, for example.
func GraphQLFailure(errs []GraphQLError) error {
	err, depth := errs[0].typed(), len(errs[0].Path)
	if depth > 2 || depth == 2 && !IsNotFound(err) {
		return &foreign{err}
	}
	return err
}

func (e GraphQLError) typed() error {
	switch e.Type {
	case "NOT_FOUND":
		return &NotFound{Kind: "resource"}
	case "FORBIDDEN", "INSUFFICIENT_SCOPES":
		return &Terminal{Status: http.StatusForbidden, Code: CodeForbidden, Message: clip(e.Message, 300)}
	}
	return &Terminal{Status: http.StatusOK, Code: CodeGraphQL, Message: clip(e.Message, 300)}
}

// foreign is a refusal of a query that is not in the form of the interface: a proxy before the
// server refused it, or the server does not have the address. A caller that knows whether the
// rest of the interface answers can tell which.
type foreign struct{ error }

// IsForeign reports whether an error is such a refusal.
func IsForeign(err error) bool { return errors.As(err, new(*foreign)) }

func (e *foreign) Unwrap() error { return e.error }

// isForeign reports whether the answer to a query may mean that there is no GraphQL. GitHub
// refuses with a message, and GraphQL with errors.
func (a answer) isForeign(c call) bool {
	if c.resource != graphqlResource || a.resp.StatusCode != http.StatusBadRequest && a.resp.StatusCode != http.StatusForbidden {
		return false
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(a.body, &body); err != nil {
		return true
	}
	_, message := body["message"]
	_, failures := body["errors"]
	_, data := body["data"]
	return !message && !failures && !data
}
