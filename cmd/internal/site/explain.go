package site

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentmux/agentmux/bot/account"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/gitrepo/clone"
	"github.com/agentmux/agentmux/internal/gitrepo/remote"
)

// ExplainGitHub says what happened with GitHub and what a person can do about it.
func ExplainGitHub(err error, what, tokenFrom string) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	detail, hint := account.Words(err, what, tokenFrom)
	said := fmt.Errorf("%s; %s", detail, hint)
	if errors.Is(err, transport.ErrPullRequest) || transport.IsNotFound(err) || account.IsUnauthorized(err) {
		return exit.Usage(said)
	}
	return said
}

// ExplainRun turns errors that a person can correct into usage errors.
func ExplainRun(err error) error {
	var problems *document.Error
	var preflight *host.PreflightError
	var read *remote.ReadError
	var export *clone.ExportError
	switch {
	case errors.As(err, &export) && export.Kind == clone.ExportBlocked:
		return exit.Usage(export)
	case errors.As(err, &problems), errors.As(err, &preflight), errors.Is(err, project.ErrNoCommit), errors.Is(err, project.ErrUnknownBase), errors.Is(err, project.ErrBaseBranch), errors.Is(err, host.ErrProductManager):
		return exit.Usage(err)
	case errors.Is(err, gitrepo.ErrShallow):
		return exit.UsageText("this clone is shallow, and a run starts from the whole history; git fetch --unshallow brings the rest")
	case errors.As(err, &read) && read.Kind == remote.PushNetwork:
		return fmt.Errorf("the git server does not answer: %s; try again, agentmux doctor probes it", read.Text)
	case errors.As(err, &read):
		return fmt.Errorf("the git server refuses: %s; agentmux doctor shows what the token may do; without a token --base HEAD starts from this clone", read.Text)
	}
	return err
}
