package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is the service. Its methods may be called side by side.
type Server struct {
	scripts Scripts
	http    *httptest.Server
	closing chan struct{}

	mu       sync.Mutex
	requests []Request
	faults   map[string]int // answered so far, by conversation and step
}

// New starts a server that answers by the scripts. Close it.
func New(scripts Scripts) *Server {
	s := &Server{scripts: scripts, closing: make(chan struct{}), faults: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.serve(messages{}))
	mux.HandleFunc("POST /v1/responses", s.serve(responses{}))
	mux.HandleFunc("POST /v1/chat/completions", s.serve(chat{}))
	mux.HandleFunc("POST /v1beta/models/{call}", s.gemini)
	mux.HandleFunc("POST /v1/messages/count_tokens", s.countTokens)
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /v1/models/{id}", s.model)
	mux.HandleFunc("/", s.other)
	s.http = httptest.NewServer(mux)
	return s
}

// URL is where the server listens: the base for ANTHROPIC_BASE_URL and for
// GOOGLE_GEMINI_BASE_URL. The forms of OpenAI have "/v1" behind it.
func (s *Server) URL() string { return s.http.URL }

// Close ends the server; programs that still wait for an answer lose their connection.
func (s *Server) Close() {
	close(s.closing)
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests are those that were answered so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) record(r Request) {
	r.At = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// maxBody bounds a request; a conversation with files in it is long.
const maxBody = 64 << 20

// serve answers the conversations of one form.
func (s *Server) serve(d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		var asked question
		if err == nil {
			asked, err = d.read(r, data)
		}
		if err != nil {
			d.refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error())
			return
		}
		q := Request{
			Path: r.URL.Path, Beta: r.Header.Get("anthropic-beta"), Model: asked.model, Stream: asked.stream,
			Aux: asked.aux, Prompt: asked.prompt, Status: http.StatusOK, Body: data,
		}
		step, err := s.decide(&q)
		if err != nil {
			s.record(q)
			d.refuse(w, q.Status, "api_error", err.Error())
			return
		}
		answer{d, w, r, asked}.give(s, q, step)
	}
}

// gemini tells its calls apart by the last word of the path.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request) {
	if _, method := geminiCall(r); method == "countTokens" {
		s.record(Request{Path: r.URL.Path, Aux: true, Status: http.StatusOK})
		writeJSON(w, http.StatusOK, struct {
			Total int `json:"totalTokens"`
		}{inputTokens})
		return
	}
	s.serve(gemini{})(w, r)
}

// decide finds the step that answers q and fills in which it is.
func (s *Server) decide(q *Request) (Step, error) {
	if q.Aux {
		return Step{Text: auxAnswer(q.Prompt)}, nil
	}
	script, ok := s.scripts.choose(q.Prompt)
	if !ok {
		return Step{Text: "No script fits this request."}, nil
	}
	q.Script = script.Name
	steps, err := script.steps(q.Prompt)
	if err != nil {
		q.Status = http.StatusInternalServerError
		return Step{}, fmt.Errorf("script %s: %w", script.Name, err)
	}
	step, n := at(steps, len(q.Prompt.Results))
	q.Step = n
	if step.Fault != "" && s.exhausted(q, step) {
		step.Fault = ""
	}
	return step, nil
}

// exhausted counts the faults of a step and reports whether they are used up.
func (s *Server) exhausted(q *Request, step Step) bool {
	if step.Times == 0 {
		return false
	}
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%d", q.Script, q.Prompt.First, q.Prompt.Last, q.Step)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[key]++
	return s.faults[key] > step.Times
}

// auxAnswer suits requests that want a title as JSON and does not harm others.
func auxAnswer(p Prompt) string {
	if strings.Contains(p.Last, "quota") {
		return "ok"
	}
	return `{"title":"Work on the task","isNewTopic":false}`
}

// refusals are the faults that are answered at once.
var refusals = map[Fault]struct {
	status int
	kind   string
}{
	RateLimited:  {http.StatusTooManyRequests, "rate_limit_error"},
	Overloaded:   {529, "overloaded_error"},
	Broken:       {http.StatusInternalServerError, "api_error"},
	Unauthorized: {http.StatusUnauthorized, "authentication_error"},
}

// answer is one request being answered.
type answer struct {
	dialect
	w     http.ResponseWriter
	r     *http.Request
	asked question
}

func (a answer) give(s *Server, q Request, step Step) {
	if !s.wait(a.r, step.Sleep) {
		return
	}
	q.Fault = step.Fault
	if refusal, ok := refusals[step.Fault]; ok {
		q.Status = refusal.status
		s.record(q)
		a.w.Header().Set("Retry-After", "0")
		a.refuse(a.w, refusal.status, refusal.kind, "scripted "+string(step.Fault))
		return
	}
	s.record(q)
	if step.Fault == Hang {
		s.hang(a.r)
		return
	}
	a.write(a.w, a.asked, step, step.Fault == Cut)
}

// wait waits for d. It reports false when the program or the server gave up first.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.closing:
	}
	return false
}

// hang never answers: it ends with the request, or cuts it off when the server closes.
func (s *Server) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.closing:
		panic(http.ErrAbortHandler) // to return would be an empty answer
	}
}

func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, io.LimitReader(r.Body, maxBody))
	s.record(Request{Path: r.URL.Path, Aux: true, Status: http.StatusOK})
	writeJSON(w, http.StatusOK, struct {
		Tokens int64 `json:"input_tokens"`
	}{n/4 + 1})
}

// modelNames are the models the server says it has. It answers for any.
func modelNames() []string {
	return []string{"claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5"}
}

type modelInfo struct {
	Type    string `json:"type"`
	ID      string `json:"id"`
	Name    string `json:"display_name"`
	Created string `json:"created_at"`
}

func newModelInfo(id string) modelInfo {
	return modelInfo{Type: "model", ID: id, Name: id, Created: "2025-10-01T00:00:00Z"}
}

type modelList struct {
	Data  []modelInfo `json:"data"`
	More  bool        `json:"has_more"`
	First string      `json:"first_id"`
	Last  string      `json:"last_id"`
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	names := modelNames()
	list := modelList{First: names[0], Last: names[len(names)-1]}
	for _, id := range names {
		list.Data = append(list.Data, newModelInfo(id))
	}
	s.record(Request{Path: r.URL.Path, Aux: true, Status: http.StatusOK})
	writeJSON(w, http.StatusOK, list)
}

func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	s.record(Request{Path: r.URL.Path, Aux: true, Status: http.StatusOK})
	writeJSON(w, http.StatusOK, newModelInfo(r.PathValue("id")))
}

// other answers for what the service has and no script needs.
func (s *Server) other(w http.ResponseWriter, r *http.Request) {
	status := http.StatusNotFound
	if r.Method == http.MethodHead {
		status = http.StatusOK // a program asks whether the server is up
	}
	s.record(Request{Path: r.URL.Path, Aux: true, Status: status})
	messages{}.refuse(w, status, "not_found_error", "not part of this service")
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the program may have closed the connection
}
