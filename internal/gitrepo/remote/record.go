package remote

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/git"
)

// maxRecord bounds the text of a record.
const maxRecord = 2 << 10

// recorder is the author of records: they name no person and no machine.
var recorder = gitrepo.Signature{Name: "agentmux", Mail: "agentmux@localhost"}

// Record is one line of text that a ref on the server holds: a claim, or the
// beat of a host. Its commit has an empty tree.
type Record struct {
	Ref, ID string
	Parent  string // the record it took the place of, empty for the first
	Text    string
}

// WriteRecord makes the commit of a record, to be pushed by Push. Parent is empty or
// the record it takes the place of. Text is one line of at most 2 KiB.
func WriteRecord(ctx context.Context, store *gitrepo.Store, text, parent string, at time.Time) (string, error) {
	if text == "" || len(text) > maxRecord || strings.ContainsAny(text, "\r\n\x00") {
		return "", fmt.Errorf("write record: not one line of at most %d bytes", maxRecord)
	}
	spec := gitrepo.CommitSpec{Tree: gitrepo.EmptyTree, Message: text + "\n", Author: recorder, Date: at}
	if parent != "" {
		spec.Parents = []string{parent}
	}
	id, err := store.Commit(ctx, spec)
	if err != nil {
		return "", fmt.Errorf("write record: %w", err)
	}
	return id, nil
}

// Records reads all records below a directory of refs such as
// "refs/agentmux/claims/", by ref, with one call to the server. One that is not a line
// of text has an empty Text.
func (r Repository) Records(ctx context.Context, store *gitrepo.Store, dir string) ([]Record, error) {
	dir = strings.TrimSuffix(dir, "/")
	name, ok := strings.CutPrefix(dir, "refs/agentmux/")
	if !ok || git.CheckRef(dir) != nil {
		return nil, fmt.Errorf("read records: bad directory %q", dir)
	}
	local := "refs/agentmux/remote/" + name
	_, err := r.call(ctx, store, func(url string) []string {
		return []string{"fetch", "-q", "--prune", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--",
			url, "+" + dir + "/*:" + local + "/*"}
	})
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	out, err := git.In(store, "for-each-ref", "--format=%(refname)%00%(objectname)%00%(parent)%00%(contents)%00", local+"/").Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	var list []Record
	f := strings.Split(string(out), "\x00")
	for i := 0; i+3 < len(f); i += 4 {
		ref := strings.TrimPrefix(strings.TrimPrefix(f[i], "\n"), local)
		list = append(list, Record{Ref: dir + ref, ID: f[i+1], Parent: f[i+2], Text: recordText(f[i+3])})
	}
	return list, nil
}

func recordText(message string) string {
	text := strings.TrimSuffix(message, "\n")
	if len(text) > maxRecord || strings.ContainsAny(text, "\r\n") {
		return ""
	}
	return text
}
