package fakehub

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// TrafficVar names the environment variable with a directory in which every server writes
// down what it was asked and what it answered, one Exchange a line, to be held against
// what GitHub says of its interface. Without it nothing is written.
const TrafficVar = "AGENTMUX_GITHUB_TRAFFIC"

// Exchange is a request with its answer. Git is not among them.
type Exchange struct {
	Method string `json:"method"`
	URL    string `json:"url"`   // path and query, without the prefix of a server of one's own
	Agent  string `json:"agent"` // of the header User-Agent
	Type   string `json:"type"`  // of the header Content-Type
	Body   string `json:"body"`
	Status int    `json:"status"`
	// Answer is what was or would have been sent, before a fault lost or cut it.
	Answer string `json:"answer"`
	// Fault is true when a fault made the answer.
	Fault bool `json:"fault,omitempty"`
}

// traffic is the open log of one server.
type traffic struct{ file *os.File }

func openTraffic() (traffic, error) {
	dir := os.Getenv(TrafficVar)
	if dir == "" {
		return traffic{}, nil
	}
	f, err := os.CreateTemp(dir, "traffic-*.jsonl")
	if err != nil {
		return traffic{}, fmt.Errorf("open the log of traffic: %w", err)
	}
	return traffic{file: f}, nil
}

// note writes one exchange; a log that cannot be written would prove nothing.
func (t traffic) note(c *call, out reply, applied bool) {
	if t.file == nil {
		return
	}
	path := "/" + strings.TrimPrefix(strings.TrimPrefix(c.request.URL.RequestURI(), "/"), "api/v3/")
	if strings.HasPrefix(path, "/api/graphql") {
		path = "/graphql"
	}
	line, err := json.Marshal(Exchange{
		Method: c.request.Method, URL: path, Agent: c.request.UserAgent(), Type: c.request.Header.Get("Content-Type"),
		Body: string(c.body), Status: out.status, Answer: string(out.bytes()), Fault: !applied,
	})
	if err == nil {
		_, err = t.file.Write(append(line, '\n'))
	}
	if err != nil {
		panic("fakehub: write the log of traffic: " + err.Error())
	}
}

func (t traffic) close() {
	if t.file != nil {
		_ = t.file.Close() // each line was written whole
	}
}
