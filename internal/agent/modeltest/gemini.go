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

func (gemini) write(w http.ResponseWriter, q question, step Step, cut bool) {
	var parts []any
	if text := step.words(); text != "" {
		parts = append(parts, map[string]any{"text": text})
	}
	for _, c := range step.Calls {
		parts = append(parts, map[string]any{"functionCall": map[string]any{"name": c.Tool, "args": c.input()}})
	}
	answer := map[string]any{
		"candidates": []any{map[string]any{
			"content": map[string]any{"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": map[string]any{
			"promptTokenCount": inputTokens, "candidatesTokenCount": outputTokens, "totalTokenCount": inputTokens + outputTokens,
		},
		"modelVersion": q.model,
	}
	switch {
	case cut && q.stream:
		newEvents(w).data(map[string]any{"candidates": []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{map[string]any{"text": "Ha"}}}, "index": 0}}})
		panic(http.ErrAbortHandler)
	case cut:
		panic(http.ErrAbortHandler)
	case q.stream:
		newEvents(w).data(answer)
	default:
		writeJSON(w, http.StatusOK, answer)
	}
}

func (gemini) refuse(w http.ResponseWriter, status int, kind, text string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"code": status, "message": text, "status": strings.ToUpper(kind)}})
}
