package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/cmd/internal/exit"
	"github.com/agentmux/agentmux/cmd/internal/mail"
	"github.com/agentmux/agentmux/cmd/internal/site"
	"github.com/agentmux/agentmux/cmd/internal/steer"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/post"
	"github.com/spf13/cobra"
)

// addMail gives the commands that agents have for their messages to people, too, and adds those
// that only people have.
func addMail(a *app, msg *cobra.Command) {
	msg.GroupID, msg.Short = groupStart, "Read what agents write to one another, and write to them"
	msg.Long = `Shows the messages that agents have written to one another: those of a session, or with
--dir those of another tool that has the same format. With --role, --task or --launch, as in
an agent's pane, list and read are the agent's tools, and show it what it was sent.`
	msg.Example = "  agentmux msg list\n  agentmux msg list --dir ../shop --type ask --since 1h\n  agentmux msg follow"
	for _, cmd := range msg.Commands() {
		switch cmd.Name() {
		case "list":
			cmd.Short, cmd.Example = "List messages, oldest first", "  agentmux msg list --errors\n  agentmux msg list --dir ../shop --json\n"+cmd.Example
			forPerson(cmd, mail.FilterFlags(), func(cmd *cobra.Command, o mail.Options, _ []string) error { return mail.List(cmd.Context(), a, o) })
		case "send":
			cmd.Short, cmd.Example = "Send a message to an agent", "  agentmux msg send --to api --type update --headline 'The port is 8080' --body '8080, also in tests.'\n"+cmd.Example
			sendsForPerson(a, cmd)
		case "read":
			cmd.Short, cmd.Long = "Show one message", "Shows a message, named by its msg-id or by its file. An agent that reads one confirms it."
			cmd.Example = "  agentmux msg read ask-timeouts-001\n" + cmd.Example
			forPerson(cmd, nil, func(cmd *cobra.Command, o mail.Options, args []string) error {
				return mail.Read(cmd.Context(), a, o, args[0])
			})
		}
	}
	var followed, counted mail.Options
	follow := example("agentmux msg follow --dir ../shop --mesh tdd --limit 5", &cobra.Command{
		Use: "follow", Short: "Show messages as they come, until an interrupt", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return mail.Follow(cmd.Context(), a, followed) },
	})
	follow.Flags().AddGoFlagSet(mail.Flags(&followed, append(mail.FilterFlags(), "dir", "session", "json", "limit")...))
	stats := example("agentmux msg stats --dir ../shop --json", &cobra.Command{
		Use: "stats", Short: "Count messages by type, state, agent and hour", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return mail.Stats(cmd.Context(), a, counted) },
	})
	stats.Flags().AddGoFlagSet(mail.Flags(&counted, "dir", "session", "json"))
	msg.AddCommand(follow, stats, newMsgCmd(a, post.CommandAck, "Note that a message was read"), newMsgCmd(a, post.CommandRetry, "Deliver a message again that did not arrive"))
}

// newMsgCmd makes a command of the person about one message.
func newMsgCmd(a *app, name, short string) *cobra.Command {
	var session string
	cmd := example("agentmux "+name+" page-1", &cobra.Command{Use: strings.TrimPrefix(name, "msg ") + " FILE", Short: short, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		return steer.Give(cmd.Context(), a, session, site.Live, orchestrator.Payload{Name: name, File: args[0]})
	}})
	sessionFlag(cmd, &session)
	return cmd
}

// sendsForPerson lets the command of an agent serve a person where no agent is named, and both take
// the body from a file.
func sendsForPerson(a *app, cmd *cobra.Command) {
	flags, agents := cmd.Flags(), cmd.RunE
	file := flags.String("file", "", "`file` with the body in place of --body; - for standard input")
	flags.String("from", "", "another `sender`, mesh/agent, in place of you; readers are told that it is claimed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.Changed("file") {
			if flags.Changed("body") {
				return exit.UsageText("--file and --body both give the body: leave one out")
			}
			body, err := mail.Body(*file, cmd.InOrStdin())
			if err != nil {
				return exit.Usage(fmt.Errorf("--file: %w", err))
			}
			if err := flags.Set("body", body); err != nil {
				return err
			}
		}
		if slices.ContainsFunc([]string{"role", "task", "launch"}, flags.Changed) || os.Getenv("AGENTMUX_LAUNCH") != "" {
			if flags.Changed("from") {
				return exit.UsageText("--from: the sender is the agent of the launch")
			}
			return agents(cmd, args)
		}
		if err := refuseInside("msg send without its launch"); err != nil {
			return err
		}
		return steer.Write(cmd.Context(), a, func(flag string) string { return flags.Lookup(flag).Value.String() })
	}
}

// forPerson lets a command of an agent serve a person where no agent is named, with --dir and
// further flags that only people have. A directory of files belongs to no agent.
func forPerson(cmd *cobra.Command, filters []string, run func(*cobra.Command, mail.Options, []string) error) {
	var o mail.Options
	flags, agents := cmd.Flags(), cmd.RunE
	flags.AddGoFlagSet(mail.Flags(&o, append(filters, "dir")...))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		named := slices.ContainsFunc([]string{"role", "task", "launch"}, flags.Changed)
		filtered := slices.ContainsFunc(filters, flags.Changed)
		switch {
		case named && o.Dir != "":
			return exit.UsageText("--dir shows files, which belong to no agent: leave out --role, --task and --launch")
		case named && filtered:
			return exit.UsageText("only --unread and --limit choose from the messages to an agent")
		case named || os.Getenv("AGENTMUX_LAUNCH") != "" && o.Dir == "" && !filtered:
			return agents(cmd, args)
		case flags.Changed("unread"):
			return exit.UsageText("--unread needs the agent that has not read them: add --role")
		}
		o.Session, o.JSON = flags.Lookup("session").Value.String(), flags.Changed("json")
		if flags.Changed("limit") {
			o.Limit, _ = strconv.Atoi(flags.Lookup("limit").Value.String())
		}
		return run(cmd, o, args)
	}
}
