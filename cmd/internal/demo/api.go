package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// requestTimeout bounds one request to the fake GitHub.
const requestTimeout = 10 * time.Second

// api is a person's plain HTTP client of the fake GitHub.
type api struct{ base, token string }

func (a *api) get(ctx context.Context, path string, into any) error {
	return a.do(ctx, http.MethodGet, path, nil, into)
}

func (a *api) post(ctx context.Context, path string, body any) error {
	return a.do(ctx, http.MethodPost, path, body, nil)
}

func (a *api) do(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var send bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&send).Encode(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, &send)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Accept", "application/vnd.github+json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}
