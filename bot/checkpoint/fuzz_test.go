package checkpoint_test

import (
	"reflect"
	"testing"

	"github.com/agentmux/agentmux/bot/checkpoint"
)

// FuzzManifest checks that whatever the commit of a checkpoint says is a manifest or an error, and that a manifest that was
// read is the one that is written of it.
func FuzzManifest(f *testing.F) {
	whole, err := checkpoint.Manifest{
		Session: "s", Repo: "a/b", Issue: 7, Issues: []int{7, 8}, Host: "h", Files: map[string]string{"state.json": "00"},
		Work: map[string]checkpoint.Work{"w": {Base: "abc", Changed: map[string]string{"a": ""}}}, LeftOut: []string{"x: too large"},
	}.Message()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{whole, whole[:len(whole)/2], "", "s\n\n", "s\n\n{}", "s\n\n{\"v\":1}", "s\n\n{\"v\":2,\"files\":[]}", "s\n\n{\"v\":1,\"issue\":\"7\"}", "s\n\nnull", "{\"v\":1}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := checkpoint.ParseMessage(text)
		if err != nil {
			return
		}
		again, err := m.Message()
		if err != nil {
			return // such as a year that no file can hold
		}
		if back, err := checkpoint.ParseMessage(again); err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("written %q, read %+v, %v, want %+v", again, back, err, m)
		}
	})
}
