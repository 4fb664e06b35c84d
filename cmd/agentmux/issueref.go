package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync"
)

// issueRef is what a person typed to name an issue.
type issueRef struct {
	repo   *ghsync.Repo // nil: the project's
	number int
}

// parseIssue reads N, #N, owner/repo#N or the URL of an issue on the server.
func parseIssue(arg, server string) (issueRef, error) {
	if strings.Contains(arg, "://") {
		return parseIssueURL(arg, server)
	}
	name, number, found := strings.Cut(arg, "#")
	if !found {
		name, number = "", arg
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return issueRef{}, exit.Usage(fmt.Errorf("%q is no issue; give N, #N, owner/repo#N or the URL of one", arg))
	}
	ref := issueRef{number: n}
	if name != "" {
		owner, repo, ok := strings.Cut(name, "/")
		if !ok || owner == "" || repo == "" || strings.Contains(repo, "/") {
			return issueRef{}, exit.Usage(fmt.Errorf("%q is no repository; give owner/repo#N", name))
		}
		ref.repo = &ghsync.Repo{Owner: owner, Name: repo}
	}
	return ref, nil
}

func parseIssueURL(arg, server string) (issueRef, error) {
	u, err := url.Parse(arg)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return issueRef{}, exit.Usage(fmt.Errorf("%q is no URL: %w", arg, err))
	}
	want, err := url.Parse(server)
	if err != nil || !strings.EqualFold(u.Host, want.Host) {
		return issueRef{}, exit.Usage(fmt.Errorf("%s is not on %s; set github.host for another server", arg, server))
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) == 4 && parts[2] == "pull" {
		return issueRef{}, exit.Usage(fmt.Errorf("%s is a pull request; give an issue", arg))
	}
	if len(parts) != 4 || parts[2] != "issues" {
		return issueRef{}, exit.Usage(fmt.Errorf("%s is no issue; expected %s/OWNER/REPO/issues/N", arg, server))
	}
	n, err := strconv.Atoi(parts[3])
	if err != nil || n < 1 {
		return issueRef{}, exit.Usage(fmt.Errorf("%s: %q is no issue number", arg, parts[3]))
	}
	return issueRef{repo: &ghsync.Repo{Owner: parts[0], Name: parts[1]}, number: n}, nil
}
