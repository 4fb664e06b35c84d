package fakehub

import (
	"net/http"
	"strconv"
)

const docs = "https://docs.github.com/rest"

// reply is what a handler answers; raw, when set, is sent instead of body as JSON.
type reply struct {
	status  int
	body    any
	raw     []byte
	rawType string
	header  http.Header
}

func ok(body any) reply      { return reply{status: http.StatusOK, body: body} }
func noContent() reply       { return reply{status: http.StatusNoContent} }
func created(body obj) reply { return reply{status: http.StatusCreated, body: body}.at(body["url"]) }

// at adds the address of what was made.
func (r reply) at(url any) reply {
	text, isText := url.(string)
	if !isText {
		return r
	}
	return r.with("Location", text)
}

func (r reply) with(name, value string) reply {
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set(name, value)
	return r
}

// fail is GitHub's error body.
func fail(status int, message string) reply {
	return reply{status: status, body: obj{
		"message": message, "documentation_url": docs, "status": strconv.Itoa(status),
	}}
}

func notFound() reply { return fail(http.StatusNotFound, "Not Found") }

// fieldError is an entry of "errors" of a 422.
type fieldError struct {
	Resource string `json:"resource"`
	Field    string `json:"field,omitempty"`
	Code     string `json:"code"`
	Message  string `json:"message,omitempty"`
	Value    any    `json:"value,omitempty"`
}

func invalid(errs ...fieldError) reply {
	r := fail(http.StatusUnprocessableEntity, "Validation Failed")
	r.body.(obj)["errors"] = errs
	return r
}

func missing(resource, field string) reply {
	return invalid(fieldError{Resource: resource, Field: field, Code: "missing_field"})
}

func custom(resource, message string) reply {
	return invalid(fieldError{Resource: resource, Code: "custom", Message: message})
}
