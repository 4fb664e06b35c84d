package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// gemini is the form of the Gemini API.
type gemini struct{}

type geminiBody struct {
	Contents []struct {
		Role  string `json:"role"`
		Parts []struct {
			Text     string `json:"text"`
			Thought  bool   `json:"thought"`
			Response *struct {
				Name     string                     `json:"name"`
				Response map[string]json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	} `json:"contents"`
	Tools []struct {
		Functions []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
}

// geminiCall is how the last word of a path names the model and what is asked of it.
func geminiCall(r *http.Request) (model, method string) {
	model, method, _ = strings.Cut(r.PathValue("call"), ":")
	return model, method
}

func (gemini) read(r *http.Request, data []byte) (question, error) {
	var b geminiBody
	if err := json.Unmarshal(data, &b); err != nil {
		return question{}, err
	}
	model, method := geminiCall(r)
	q := question{model: model, stream: method == "streamGenerateContent"}
	for _, t := range b.Tools {
		for _, f := range t.Functions {
			q.prompt.Tools = append(q.prompt.Tools, f.Name)
		}
	}
	for _, c := range b.Contents {
		var said []string
		answers := false
		for _, p := range c.Parts {
			if p.Response == nil {
				said = append(said, p.Text)
				continue
			}
			answers = true
			failure, failed := p.Response.Response["error"]
			text := string(p.Response.Response["output"])
			if failed {
				text = string(failure)
			}
			q.prompt.returned(text, failed)
		}
		if c.Role == "user" && !answers { // text beside answers is the program's
			q.prompt.say(strings.Join(said, "\n"))
		}
	}
	q.aux = len(q.prompt.Tools) == 0
	return q, nil
}

type geminiAnswer struct {
	Candidates []geminiCandidate `json:"candidates"`
	Usage      *geminiUsage      `json:"usageMetadata,omitempty"`
	Version    string            `json:"modelVersion,omitempty"`
}

type geminiCandidate struct {
	Content struct {
		Role  string       `json:"role"`
		Parts []geminiPart `json:"parts"`
	} `json:"content"`
	Reason string `json:"finishReason,omitempty"`
	Index  int    `json:"index"`
}

type geminiPart struct {
	Text string          `json:"text,omitempty"`
	Call *geminiFunction `json:"functionCall,omitempty"`
}

type geminiFunction struct {
	Name string `json:"name"`
	Args any    `json:"args"`
}

type geminiUsage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Total      int `json:"totalTokenCount"`
}

type geminiError struct {
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
	} `json:"error"`
}

func newGeminiAnswer(reason string, parts ...geminiPart) geminiAnswer {
	c := geminiCandidate{Reason: reason}
	c.Content.Role, c.Content.Parts = "model", parts
	return geminiAnswer{Candidates: []geminiCandidate{c}}
}

func (gemini) write(w http.ResponseWriter, q question, step Step, cut bool) {
	var parts []geminiPart
	if text := step.words(); text != "" {
		parts = append(parts, geminiPart{Text: text})
	}
	for _, c := range step.Calls {
		parts = append(parts, geminiPart{Call: &geminiFunction{Name: c.Tool, Args: c.input()}})
	}
	out := newGeminiAnswer("STOP", parts...)
	out.Usage = &geminiUsage{Prompt: inputTokens, Candidates: outputTokens, Total: inputTokens + outputTokens}
	out.Version = q.model
	switch {
	case cut && q.stream:
		newEvents(w).data(newGeminiAnswer("", geminiPart{Text: "Ha"}))
		panic(http.ErrAbortHandler)
	case cut:
		panic(http.ErrAbortHandler)
	case q.stream:
		newEvents(w).data(out)
	default:
		writeJSON(w, http.StatusOK, out)
	}
}

func (gemini) refuse(w http.ResponseWriter, status int, kind, text string) {
	var out geminiError
	out.Error.Code, out.Error.Message, out.Error.Status = status, text, strings.ToUpper(kind)
	writeJSON(w, status, out)
}
