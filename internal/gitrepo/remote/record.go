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

// WriteRecord makes the commit of a record, to be pushed by Push: one line of text on an empty
// tree, as a ref on the server holds it for a claim or for the beat of a host. Parent is
// empty or the record it takes the place of. Text has at most 2 KiB.
func WriteRecord(ctx context.Context, store *gitrepo.Store, text, parent string, at time.Time) (string, error) {
	if !oneLine(text) {
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

// Texts fetches commits that refs on the server are at and returns the text of each that is one
// line of at most 2 KiB. No ref is made. It fails if the server lacks one of them.
func (r Repository) Texts(ctx context.Context, store *gitrepo.Store, commits []string) (map[string]string, error) {
	for _, id := range commits {
		if !git.IsID(id) {
			return nil, fmt.Errorf("read records: bad object id %q", id)
		}
	}
	_, err := r.read(ctx, store, false, func(url string) []string {
		return append([]string{"fetch", "-q", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--", url}, commits...)
	})
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	c := git.In(store, "cat-file", "--batch")
	c.Stdin = []byte(strings.Join(commits, "\n") + "\n")
	c.MaxOutput = int64(len(commits)) * 2 * maxRecord // a commit is little more than its text
	out, err := c.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	texts := map[string]string{}
	for len(out) > 0 {
		head, rest, _ := strings.Cut(string(out), "\n")
		var id, kind string
		var size int
		if n, _ := fmt.Sscanf(head, "%s %s %d", &id, &kind, &size); n != 3 || size < 0 || size >= len(rest) {
			return nil, fmt.Errorf("read records: unexpected answer %.80q", head)
		}
		_, message, _ := strings.Cut(rest[:size], "\n\n")
		if text := strings.TrimSuffix(message, "\n"); kind == "commit" && oneLine(text) {
			texts[id] = text
		}
		out = []byte(rest[size+1:])
	}
	return texts, nil
}

// oneLine reports whether a record may have this text.
func oneLine(text string) bool {
	return text != "" && len(text) <= maxRecord && !strings.ContainsAny(text, "\r\n\x00")
}
