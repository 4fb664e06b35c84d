package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentmux/agentmux/bot/config"
	"github.com/agentmux/agentmux/bot/host"
	"github.com/agentmux/agentmux/bot/project"
	"github.com/agentmux/agentmux/ghsync/transport"
	"github.com/agentmux/agentmux/internal/document"
	"github.com/agentmux/agentmux/internal/gitrepo"
	"github.com/agentmux/agentmux/internal/shield"
	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/spf13/cobra"
)

// startWait is how long a launcher waits for a detached host's first commit.
const startWait = 5 * time.Second

// site is a project with everything a host needs there.
type site struct {
	project  string
	config   *config.Config
	identity identity
	host     *host.Host
	log      *hostLog
}

// site reads the project's configuration and wires a host. Without a token the host does not use GitHub.
func (a *app) site(ctx context.Context, log *hostLog) (*site, error) {
	project, err := a.projectDir()
	if err != nil {
		return nil, err
	}
	c, err := a.config(project)
	if err != nil {
		return nil, err
	}
	id, err := a.identity(c)
	if err != nil {
		return nil, err
	}
	s := &site{project: project, config: c, identity: id, log: log}
	return s, a.wire(ctx, s, log, true)
}

// wire makes the host; github false leaves GitHub alone.
func (a *app) wire(ctx context.Context, s *site, log io.Writer, github bool) error {
	own, err := self()
	if err != nil {
		return err
	}
	redactor := a.redactor()
	logger := a.logger(log, s.config.Log.Level)
	o := host.Options{
		Self: own, StateHome: stateHome(), RuntimeDir: runtimeDir(), Home: home(), Log: logger, Redactor: redactor,
		Server: s.identity.bases.Server, ReadOnly: !github && s.identity.tokens != nil,
	}
	if github {
		if err := s.useGitHub(ctx, &o); err != nil {
			return err
		}
	}
	s.host, err = host.New(o)
	return err
}

// useAccount makes the host do without GitHub where nothing can be written there.
func (a *app) useAccount(ctx context.Context, s *site, p *planned) error {
	if p.push && s.config.GitHub.Push {
		return nil
	}
	return a.wire(ctx, s, s.log, false)
}

// useGitHub gives the host the site's account, if there is one, and its redactor that one's secrets.
func (s *site) useGitHub(ctx context.Context, o *host.Options) (err error) {
	if actsAsApp(s.config) {
		if s.identity.tokens, err = appTokens(ctx, s, *o); err != nil {
			return err
		}
	}
	if s.identity.tokens == nil {
		return nil
	}
	if o.GitHub, err = s.identity.client(o.Log); err != nil {
		return usage(fmt.Errorf("%w; see github.host, and GITHUB_API_URL, GITHUB_GRAPHQL_URL and GITHUB_SERVER_URL", err))
	}
	o.Token = s.identity.tokens
	if o.Token.Mode() == transport.ModeApp {
		return nil // it tells of each token it makes
	}
	token, err := o.Token.Token(ctx)
	if err != nil {
		return err
	}
	if err := o.Redactor.AddSecret("github-token", token); err != nil {
		_, hint := s.identity.noToken()
		return usage(fmt.Errorf("%w; %s", &tokenError{s.identity.from}, hint))
	}
	return nil
}

// hostSession runs a session in this process and turns its outcome into an exit code.
func (a *app) hostSession(ctx context.Context, s *site, spec host.RunSpec) error {
	spec.Config = s.config
	if note := setupNote(projectOf(session.Entry{Dir: spec.Dir}), s.config); note != "" {
		a.say("%s", note)
	}
	told, err := a.narrate(s, &spec)
	if err != nil {
		return err
	}
	last, err := s.host.Run(ctx, spec)
	told()
	if err != nil {
		return explainRun(err)
	}
	if !s.log.plain {
		a.tellEnd(ctx, spec.Dir, last)
	}
	return quiet(outcomeCode(last))
}

func outcomeCode(s *orchestrator.State) int {
	switch s.Outcome {
	case orchestrator.OutcomeDone:
		return exitDone
	case orchestrator.OutcomeNeedsHuman:
		return exitNeedsHuman
	case orchestrator.OutcomeCanceled:
		return exitCanceled
	}
	return exitFailed
}

// explainRun makes what a person can correct a usage error.
func explainRun(err error) error {
	var problems *document.Error
	var preflight *host.PreflightError
	var read *gitrepo.RemoteError
	switch {
	case errors.As(err, &problems), errors.As(err, &preflight), errors.Is(err, project.ErrNoCommit), errors.Is(err, project.ErrUnknownBase), errors.Is(err, project.ErrBaseBranch), errors.Is(err, host.ErrProductManager):
		return usage(err)
	case errors.Is(err, gitrepo.ErrShallow):
		return usageText("this clone is shallow, and a run starts from the whole history; git fetch --unshallow brings the rest")
	case errors.As(err, &read) && read.Kind == gitrepo.PushNetwork:
		return fmt.Errorf("the git server does not answer: %s; try again, agentmux doctor probes it", read.Text)
	case errors.As(err, &read):
		return fmt.Errorf("the git server refuses: %s; agentmux doctor shows what the token may do; without a token --base HEAD starts from this clone", read.Text)
	}
	return err
}

// sessionCommand is the process of a detached host.
func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "session", Short: "Host sessions (internal)", RunE: needsSubcommand, Args: unknownCommand}
	var resume, backup, attended, tokenIn bool
	var changes, base string
	run := &cobra.Command{
		Use: "run DIR", Short: "Host the session in DIR", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if tokenIn {
				if err := a.readToken(); err != nil {
					return err
				}
			}
			return a.runSession(cmd.Context(), args[0], host.RunSpec{Resume: resume, Attended: attended, Changes: changes, Backup: backup, Base: base}, &hostLog{terminal: a.err, plain: true})
		},
	}
	flags := run.Flags()
	flags.BoolVar(&resume, "resume", false, "go on with an ended session")
	flags.BoolVar(&attended, "attended", false, "a person at a terminal resumes it")
	flags.BoolVar(&backup, "from-backup", false, "take the state before the last phase")
	flags.BoolVar(&tokenIn, "token-stdin", false, "read the GitHub token from standard input")
	flags.StringVar(&changes, "changes", "", "what is wanted different")
	flags.StringVar(&base, "base", "", "where the pull request goes from now on")
	cmd.AddCommand(run)
	return hidden(cmd)
}

// readToken takes the launcher's token, which travels in no environment.
func (a *app) readToken() error {
	a.handed = &handedToken{}
	if err := json.NewDecoder(io.LimitReader(a.in, maxHanded)).Decode(a.handed); err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	return nil
}

// maxHanded is more than any token with its addresses.
const maxHanded = 64 << 10

// foreground hosts an existing session for the person at this terminal.
func (a *app) foreground(ctx context.Context, dir string, spec host.RunSpec) error {
	if err := a.trusted(ctx, dir, spec.Backup); err != nil {
		return err
	}
	log := &hostLog{terminal: a.err}
	if err := log.keep(filepath.Join(dir, session.HostLog)); err != nil {
		return err
	}
	return a.runSession(ctx, dir, spec, log)
}

// runSession hosts an existing session in this process.
func (a *app) runSession(ctx context.Context, dir string, spec host.RunSpec, log *hostLog) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	a.project = sess.Project()
	s, err := a.site(ctx, log)
	if err != nil {
		return err
	}
	state, err := readSession(sess, spec.Backup)
	if err != nil {
		return err
	}
	if state.GHAvailable == nil || !*state.GHAvailable {
		if err := a.wire(ctx, s, log, false); err != nil {
			return err
		}
	}
	spec.Dir = sess.Dir
	spec.Mirror.On = state.Mirror
	return a.hostSession(ctx, s, spec)
}

// readSession reads the state a host will begin with.
func readSession(sess *session.Session, backup bool) (*orchestrator.State, error) {
	if backup {
		return sess.ReadBackup()
	}
	return sess.ReadState()
}

// detach starts a host in a session of its own and waits for its first commit.
func (a *app) detach(ctx context.Context, s *site, dir string, args ...string) error {
	own, err := self()
	if err != nil {
		return err
	}
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	before, err := sess.ReadState()
	if err != nil {
		return err
	}
	argv := append([]string{"session", "run", dir}, args...)
	for flag, value := range map[string]string{"--config": a.configFile, "--log-level": a.logLevel, "--log-format": string(a.logFormat)} {
		if value != "" {
			abs := value
			if flag == "--config" {
				if abs, err = filepath.Abs(value); err != nil {
					return err
				}
			}
			argv = append(argv, flag, abs)
		}
	}
	token := ""
	if s.identity.tokens != nil && s.identity.tokens.Mode() != transport.ModeApp {
		secret, err := s.identity.tokens.Token(ctx)
		if err != nil {
			return err
		}
		data, err := json.Marshal(handedToken{
			Token: secret.Reveal(), From: s.identity.from, API: s.identity.bases.API, Server: s.identity.bases.Server,
		})
		if err != nil {
			return err
		}
		token = string(data)
		argv = append(argv, "--token-stdin")
	}
	cmd, err := startDetached(own, argv, sess.Path(session.HostLog), token)
	if err != nil {
		return fmt.Errorf("start host: %w", err)
	}
	return a.awaitHost(ctx, sess, before.Seq, cmd)
}

func startDetached(own string, argv []string, logFile, token string) (*exec.Cmd, error) {
	log, err := session.OpenLog(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(own, argv...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if token != "" {
		cmd.Stdin = strings.NewReader(token + "\n")
	}
	done, err := shield.Seal(cmd, os.Environ())
	if err != nil {
		return nil, err
	}
	defer done()
	return cmd, cmd.Start()
}

// awaitHost returns once the host committed something, or says why it did not.
func (a *app) awaitHost(ctx context.Context, sess *session.Session, seq int, cmd *exec.Cmd) error {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state and the log say how it went
		close(ended)
	}()
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if s, err := sess.ReadState(); err == nil && s.Seq > seq {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		case <-ended:
			if s, err := sess.ReadState(); err == nil && s.Seq > seq {
				return nil
			}
			return fmt.Errorf("the host ended at once: %s", lastLine(sess.Path(session.HostLog)))
		case <-deadline.C:
			return fmt.Errorf("the host did not start within %s: %s", startWait, lastLine(sess.Path(session.HostLog)))
		}
	}
}

func lastLine(file string) string {
	data, _ := session.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "its log is empty"
}

// projectOf is the project that a session lies in.
func projectOf(e session.Entry) string { return filepath.Dir(filepath.Dir(filepath.Dir(e.Dir))) }

// siteOf is the site of a session's project.
func (a *app) siteOf(ctx context.Context, e session.Entry) (*site, error) {
	a.project = projectOf(e)
	return a.site(ctx, &hostLog{terminal: a.err})
}

// hostCommands starts a host for a parked session that has a command to apply.
func (a *app) hostCommands(ctx context.Context, e session.Entry) error {
	s, err := a.siteOf(ctx, e)
	if err != nil {
		return err
	}
	return a.detach(ctx, s, e.Dir)
}

// tools fails unless the programs that every run needs are there.
func (a *app) tools(ctx context.Context) error {
	if os.Getenv("HOME") == "" {
		return usageText("HOME is not set; agentmux keeps its state and finds your configuration there")
	}
	for _, p := range []probe{probeGit(ctx), probeTmux(ctx), probeDir("state", stateHome()), probeDir("runtime", runtimeDir())} {
		if p.State == probeFailed {
			return usage(fmt.Errorf("%s; %s", p.Detail, p.Hint))
		}
	}
	return nil
}

// announce says where a session can be watched.
func (a *app) announce(dir string, log *slog.Logger) {
	name := filepath.Base(dir)
	log.Info("session", "session", name, "attach", "agentmux attach "+name, "status", "agentmux status "+name)
	if a.format() == logLines {
		a.say("agentmux attach %s watches it, agentmux status %s says where it is", name, name)
	}
}
