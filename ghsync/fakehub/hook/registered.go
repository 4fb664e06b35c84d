package hook

import (
	"fmt"
	"time"
)

// Registered is a webhook that a repository has, and what became of its deliveries.
type Registered struct {
	URL      string
	Inactive bool
	Events   []string
	// Statuses are what its deliveries were answered, 0 for no answer: the newest at Newest, each
	// other an hour before.
	Statuses []int
	Newest   time.Time
}

// Show is a list of webhooks as GitHub shows it. Their numbers count from 1; address is that of the list.
func Show(list []Registered, address string) []any {
	shown := []any{}
	for i, r := range list {
		at, last := fmt.Sprintf("%s/%d", address, i+1), map[string]any{"code": nil, "status": "unused", "message": nil}
		if len(r.Statuses) > 0 {
			last = map[string]any{"code": r.Statuses[0], "status": words(r.Statuses[0]), "message": nil}
		}
		shown = append(shown, map[string]any{
			"type": "Repository", "id": i + 1, "name": "web", "active": !r.Inactive, "events": r.Events, "created_at": r.Newest.UTC(), "updated_at": r.Newest.UTC(),
			"config": map[string]any{"url": r.URL, "content_type": "json", "insecure_ssl": "0", "secret": "********"},
			"url":    at, "test_url": at + "/test", "ping_url": at + "/pings", "deliveries_url": at + "/deliveries", "last_response": last,
		})
	}
	return shown
}

// ShowDeliveries is the list of the deliveries of webhook number as GitHub shows it.
func ShowDeliveries(list []Registered, number int64) []any {
	shown := []any{}
	if number < 1 || int(number) > len(list) {
		return shown
	}
	for i, status := range list[number-1].Statuses {
		shown = append(shown, map[string]any{
			"id": i + 1, "guid": fmt.Sprintf("00000000-0000-4000-8000-%012d", i), "delivered_at": list[number-1].Newest.UTC().Add(-time.Duration(i) * time.Hour),
			"redelivery": false, "duration": 0.1, "status": words(status), "status_code": status, "event": "issues", "action": nil,
			"installation_id": nil, "repository_id": nil,
		})
	}
	return shown
}

func words(status int) string {
	switch {
	case status == 0:
		return "failed to connect to host"
	case status < 300:
		return "OK"
	}
	return "Invalid HTTP Response"
}
