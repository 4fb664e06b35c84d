package request

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/agentmux/agentmux/ghsync"
	"github.com/agentmux/agentmux/ghsync/transport"
)

// LabelColor is the color of the request label.
const LabelColor = "5319e7"

// Label returns the label that requests a session.
func Label(name string) ghsync.Label {
	return ghsync.Label{Name: name, Color: LabelColor, Description: "agentmux: work on this issue"}
}

// Labels returns what lists the labels that a sweep searches for: the request label, also with the names of workflows.
func Labels(name string, workflows []string) func() []string {
	return func() []string {
		labels := []string{name}
		for _, workflow := range workflows {
			labels = append(labels, name+":"+workflow)
		}
		return labels
	}
}

// EnsureLabel makes the request label if the repository lacks it. That this account may not make it is no
// error: somebody else can. said is an error as it may be logged.
func EnsureLabel(ctx context.Context, client *ghsync.Client, repo ghsync.Repo, name string, said func(error) string, log *slog.Logger) error {
	label := Label(name)
	there, err := client.HasLabel(ctx, repo, label.Name)
	if err != nil || there {
		return err
	}
	made, err := client.EnsureLabel(ctx, repo, label)
	switch {
	case made:
		log.Info("the request label is made", "label", label.Name)
	case errors.As(err, new(*transport.Terminal)):
		log.Warn("the request label is not there and cannot be made", "label", label.Name, "err", said(err), "hint",
			fmt.Sprintf("gh label create %s --color %s --repo %s, by somebody who may; agentmux doctor --repo %s says why", label.Name, label.Color, repo, repo))
		return nil
	}
	return err
}
